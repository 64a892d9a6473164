#pragma once

#include <string>

#include "models/net.h"

namespace gf {

// Writes what gfsim --profile reads (ProfileConfig of simulate/cluster.proto): the mean times of
// the net's layers over `steps` steps, and the seconds of a whole step. Throws UserError.
void WriteProfile(const std::string& path, const Net& net, int steps, double step_seconds);

}  // namespace gf
