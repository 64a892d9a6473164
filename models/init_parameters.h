#pragma once

#include "core/device.h"
#include "models/compiled_net.h"

namespace gf {

// Fills the parameters of a net with the values of their fillers, or of the last pattern of
// options.init that fits, and the states with their initial values. Throws UserError for a pattern
// that fits no parameter.
void InitParameters(const CompiledNet& net, const NetOptions& options, Device* device);

}  // namespace gf
