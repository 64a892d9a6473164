#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gf {

// A place in a prototxt as the parser counts it: lines and columns from 0, tabs to multiples of 8.
struct TextPosition {
  int line = 0, column = 0;
};

size_t OffsetOf(const std::string& text, const TextPosition& position);
TextPosition PositionOf(const std::string& text, size_t offset);

// The last occurrence of a word that begins at `position` or before; `position` if there is none.
TextPosition LastWord(const std::string& text, const std::string& word,
                      const TextPosition& position);

// Where in the tree of messages an offset of the text lies.
struct TextContext {
  struct Block {
    std::string field;
    int line;  // from 1
  };
  std::vector<Block> open;
  // The last field named before the offset.
  std::string field;
  // The last word since the last colon or brace, "" if there is none, and the last character.
  std::string word;
  char last = 0;
  // Whether the offset lies in a list in brackets.
  bool in_list = false;
};
TextContext ContextAt(const std::string& text, size_t offset);

}  // namespace gf
