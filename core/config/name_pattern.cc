#include "core/config/name_pattern.h"

#include <fnmatch.h>

#include "core/error.h"

namespace gf {

bool NameFits(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

void CheckPattern(const std::string& field, const std::string& pattern, const PoolLayout& layout) {
  if (layout.entries().empty()) return;
  for (const PoolEntry& entry : layout.entries()) {
    if (NameFits(pattern, entry.name)) return;
  }
  ThrowUserError(field, ": \"", pattern, "\" fits none of the net's ", layout.entries().size(),
                 " parameters (\"", layout.entries().back().name,
                 "\" is one); * stands for any characters");
}

}  // namespace gf
