#include "core/printable.h"

#include <cstdint>
#include <cstring>

#include "core/str_cat.h"

namespace gf {
namespace {

// Bytes of the UTF-8 character at `at`, 0 if there is none. Excludes overlong forms, surrogates
// and numbers beyond Unicode.
size_t CharacterLength(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() - at < length) return 0;
  uint32_t code = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0u) != 0x80u) return 0;
    code = code << 6 | (byte(at + i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[length] || surrogate || code > 0x10ffff ? 0 : length;
}

bool IsControl(const std::string& text, size_t at, size_t length) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (length == 1) return first < 0x20 || first == 0x7f;
  // The second set of controls, U+0080 to U+009F.
  return first == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

std::string Replaced(const std::string& text, const char* kept) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = CharacterLength(text, at);
    const bool keep = text[at] != '\0' && std::strchr(kept, text[at]) != nullptr;
    if (length == 0 || (IsControl(text, at, length) && !keep)) {
      result += '?';
    } else {
      result.append(text, at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return result;
}

}  // namespace

std::string Printable(const std::string& text) { return Replaced(text, ""); }

std::string PrintableLines(const std::string& text) { return Replaced(text, "\n\t"); }

std::string Excerpt(const std::string& text, size_t most) {
  if (text.size() <= most) return Printable(text);
  // A character that is cut in two must not end in question marks.
  size_t end = most;
  while (end > 0 && most - end < 4 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) {
    --end;
  }
  return StrCat(Printable(text.substr(0, end)), "... (", text.size(), " characters)");
}

}  // namespace gf
