#pragma once

#include <string>
#include <vector>

#include "core/pool_layout.h"

namespace gf {

// Whether a parameter's full name fits a pattern in which * stands for any characters.
bool NameFits(const std::string& pattern, const std::string& name);

// Whether the name fits one of the patterns.
bool FitsOne(const std::vector<std::string>& patterns, const std::string& name);

// Throws UserError if the pattern, which was read from `field`, fits no parameter of the layouts
// and these have any.
void CheckPattern(const std::string& field, const std::string& pattern,
                  const std::vector<const PoolLayout*>& layouts);

}  // namespace gf
