#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace gf {

// An error of the text parser; line and column count from 0, tabs to multiples of 8.
struct TextError {
  int line, column;
  std::string message;
};

// Replaces the parser's message by one that says what to do, and moves the position to the
// word that is wrong. `root` is the type of the whole text.
void Explain(const std::string& text, const google::protobuf::Descriptor* root, TextError* error);

}  // namespace gf
