#pragma once

#include <string>

#include "core/pool_layout.h"

namespace gf {

// Whether a parameter's full name fits a pattern in which * stands for any characters.
bool NameFits(const std::string& pattern, const std::string& name);

// Throws UserError if the pattern, which was read from `field`, fits no parameter of the layout
// and this has any.
void CheckPattern(const std::string& field, const std::string& pattern, const PoolLayout& layout);

}  // namespace gf
