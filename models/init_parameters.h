#pragma once

#include <string>

#include "core/device.h"
#include "models/compiled_net.h"

namespace gf {

// The last entry of options.init whose pattern fits a parameter ("fc.weight"); -1 if none does.
int InitRuleOf(const NetOptions& options, const std::string& parameter);

// Fills the parameters of a net with the values of their fillers, or of the last pattern of
// options.init that fits, and the states with their initial values. Throws UserError for a pattern
// that fits no parameter.
void InitParameters(const CompiledNet& net, const NetOptions& options, Device* device);

}  // namespace gf
