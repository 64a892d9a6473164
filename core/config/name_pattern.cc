#include "core/config/name_pattern.h"

#include <fnmatch.h>

#include <algorithm>

#include "core/error.h"

namespace gf {

bool NameFits(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool FitsOne(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return NameFits(pattern, name); });
}

void CheckPattern(const std::string& field, const std::string& pattern,
                  const std::vector<const PoolLayout*>& layouts) {
  size_t count = 0;
  const PoolEntry* last = nullptr;
  for (const PoolLayout* layout : layouts) {
    for (const PoolEntry& entry : layout->entries()) {
      if (NameFits(pattern, entry.name)) return;
      ++count;
      last = &entry;
    }
  }
  if (count == 0) return;
  ThrowUserError(field, ": \"", pattern, "\" fits none of the net's ", count, " parameters (\"",
                 last->name, "\" is one); * stands for any characters");
}

}  // namespace gf
