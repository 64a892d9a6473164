#include "core/str_cat.h"

#include <charconv>
#include <cstdio>

namespace gf {

TextPiece::TextPiece(double value) {
  text_ = {buffer_, static_cast<size_t>(std::snprintf(buffer_, sizeof(buffer_), "%g", value))};
}

TextPiece::TextPiece(const void* address) {
  text_ = {buffer_, static_cast<size_t>(std::snprintf(buffer_, sizeof(buffer_), "%p", address))};
}

void TextPiece::SetSigned(int64_t value) {
  const auto end = std::to_chars(buffer_, buffer_ + sizeof(buffer_), value).ptr;
  text_ = {buffer_, static_cast<size_t>(end - buffer_)};
}

void TextPiece::SetUnsigned(uint64_t value) {
  const auto end = std::to_chars(buffer_, buffer_ + sizeof(buffer_), value).ptr;
  text_ = {buffer_, static_cast<size_t>(end - buffer_)};
}

std::string Concatenate(std::initializer_list<std::string_view> pieces) {
  size_t size = 0;
  for (const std::string_view piece : pieces) size += piece.size();
  std::string text;
  text.reserve(size);
  for (const std::string_view piece : pieces) text += piece;
  return text;
}

}  // namespace gf
