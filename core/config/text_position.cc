#include "core/config/text_position.h"

#include <cctype>

namespace gf {
namespace {

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

size_t OffsetOf(const std::string& text, const TextPosition& position) {
  size_t at = 0;
  for (int line = position.line; line > 0 && at < text.size(); ++at) line -= text[at] == '\n';
  for (int c = 0; c < position.column && at < text.size() && text[at] != '\n'; ++at) {
    c += text[at] == '\t' ? 8 - c % 8 : 1;
  }
  return at;
}

TextPosition PositionOf(const std::string& text, size_t offset) {
  TextPosition position;
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') {
      ++position.line;
      position.column = 0;
    } else {
      position.column += text[i] == '\t' ? 8 - position.column % 8 : 1;
    }
  }
  return position;
}

TextPosition LastWord(const std::string& text, const std::string& word,
                      const TextPosition& position) {
  size_t at = OffsetOf(text, position);
  while ((at = text.rfind(word, at)) != std::string::npos) {
    const bool starts = at == 0 || !IsWord(text[at - 1]);
    const size_t end = at + word.size();
    if (starts && (end == text.size() || !IsWord(text[end]))) return PositionOf(text, at);
    if (at-- == 0) break;
  }
  return position;
}

TextContext ContextAt(const std::string& text, size_t offset) {
  TextContext context;
  std::string& word = context.word;
  int line = 1;
  for (size_t i = 0; i < offset;) {
    const char c = text[i];
    if (IsWord(c)) {
      const size_t start = i;
      while (i < offset && IsWord(text[i])) ++i;
      word = text.substr(start, i - start);
      context.last = text[i - 1];
      continue;
    }
    if (c == '#') {
      while (i < offset && text[i] != '\n') ++i;
      continue;
    }
    if (c == '"' || c == '\'') {
      for (++i; i < offset && text[i] != c && text[i] != '\n'; ++i) i += text[i] == '\\';
    } else if (c == ':') {
      context.field = word;
      word.clear();
    } else if (c == '[' || c == ']') {
      context.in_list = c == '[';
    } else if (c == '{' || c == '<') {
      if (!word.empty()) context.field = word;
      context.open.push_back({context.field, line});
      word.clear();
    } else if ((c == '}' || c == '>') && !context.open.empty()) {
      context.open.pop_back();
    }
    if (!std::isspace(static_cast<unsigned char>(c))) context.last = c;
    if (i < offset && text[i] == '\n') ++line;
    ++i;
  }
  return context;
}

}  // namespace gf
