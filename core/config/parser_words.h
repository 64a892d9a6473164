#pragma once

#include <string>

namespace gf {

// A message of the text parser's about characters, numbers, quotes or lists, in words that say what
// to do; unchanged if it is about something else.
std::string PlainWords(const std::string& message);

}  // namespace gf
