#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace gf {

// A piece of text for StrCat. Lives no longer than the text that it was made from.
class TextPiece {
 public:
  TextPiece(std::string_view text) : text_(text) {}
  TextPiece(const std::string& text) : text_(text) {}
  TextPiece(const char* text) : text_(text) {}
  TextPiece(char c) : text_(buffer_, 1) { buffer_[0] = c; }
  TextPiece(double value);  // six digits, as "%g"
  TextPiece(const void* address);

  // Integers and unscoped enumerations as decimal numbers; bool as 0 or 1.
  template <typename T,
            std::enable_if_t<std::is_integral_v<T> ||
                                 (std::is_enum_v<T> && std::is_convertible_v<T, int64_t>),
                             int> = 0>
  TextPiece(T value) {
    if constexpr (std::is_enum_v<T> || std::is_signed_v<T>) {
      SetSigned(static_cast<int64_t>(value));
    } else {
      SetUnsigned(static_cast<uint64_t>(value));
    }
  }

  TextPiece(const TextPiece&) = delete;
  TextPiece& operator=(const TextPiece&) = delete;

  std::string_view text() const { return text_; }

 private:
  void SetSigned(int64_t value);
  void SetUnsigned(uint64_t value);

  char buffer_[32];
  std::string_view text_;
};

// Whether `start` begins the text.
inline bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

std::string Concatenate(std::initializer_list<std::string_view> pieces);

// Concatenates texts and numbers.
template <typename... Args>
std::string StrCat(const Args&... args) {
  return Concatenate({TextPiece(args).text()...});
}

}  // namespace gf
