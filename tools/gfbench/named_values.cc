#include "tools/gfbench/named_values.h"

#include <sstream>

#include "core/error.h"

namespace gf {
namespace {

std::string Stripped(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> NamedValues(const std::string& flag,
                                                             const std::string& text) {
  std::vector<std::pair<std::string, std::string>> entries;
  std::istringstream in(text);
  std::string entry;
  while (std::getline(in, entry, ';')) {
    if (Stripped(entry).empty()) continue;
    const size_t equals = entry.find('=');
    const std::string name = Stripped(entry.substr(0, equals));
    const std::string value = equals == std::string::npos ? "" : Stripped(entry.substr(equals + 1));
    if (name.empty()) {
      ThrowUserError(flag, ": \"= ", value, "\" has no name; write \"NAME = ", value, "\"");
    }
    entries.emplace_back(name, value);
  }
  return entries;
}

}  // namespace gf
