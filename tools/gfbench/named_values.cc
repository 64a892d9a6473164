#include "tools/gfbench/named_values.h"

#include <sstream>

namespace gf {
namespace {

std::string Stripped(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> NamedValues(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> entries;
  std::istringstream in(text);
  std::string entry;
  while (std::getline(in, entry, ';')) {
    if (Stripped(entry).empty()) continue;
    const size_t equals = entry.find('=');
    const std::string value = equals == std::string::npos ? "" : entry.substr(equals + 1);
    entries.emplace_back(Stripped(entry.substr(0, equals)), Stripped(value));
  }
  return entries;
}

}  // namespace gf
