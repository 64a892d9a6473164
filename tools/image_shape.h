#pragma once

#include <string>

#include "core/shape.h"

namespace gf {

// C, H, W of a flag's text "3x227x227". Throws UserError that calls the flag --input.
Shape ParseInput(const std::string& text);

}  // namespace gf
