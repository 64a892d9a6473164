#include "core/config/parser_words.h"

namespace gf {
namespace {

struct Words {
  const char* start;  // of the parser's message
  const char* plain;
};

constexpr char kQuote[] = "a closing quote is missing";
constexpr char kEscape[] = "unknown escape sequence in a text: write \\\\ for a backslash";

constexpr Words kWords[] = {
    {"Interpreting non ascii", "a character outside of quotes is not ASCII: replace it"},
    {"String literals cannot cross", kQuote},
    {"Unexpected end of string", kQuote},
    {"Invalid escape sequence", kEscape},
    {"Expected hex digits", kEscape},
    {"Expected octal digits", kEscape},
    {"Need space between number", "a number ends in letters: remove them"},
    {"Numbers starting with leading zero",
     "a number begins with 0, which means octal: remove the 0"},
    {"\"e\" must be followed", "a number ends with e: add the exponent or remove the e"},
    {"Already saw decimal", "a number has two points or exponents"},
    {"Expected \",\"", "a comma or ] is missing in a list"},
    {"Expected \"]\"", "a ] is missing"},
    {"Expected \">\"", "a block that begins with < ends with >, not with }"},
    {"Extension ", "a name in brackets is an extension, and there are none: remove the brackets"},
};

}  // namespace

std::string PlainWords(const std::string& message) {
  for (const Words& words : kWords) {
    if (message.rfind(words.start, 0) == 0) return words.plain;
  }
  return message;
}

}  // namespace gf
