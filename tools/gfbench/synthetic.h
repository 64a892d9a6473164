#pragma once

#include <string>

#include "models/net.h"

namespace gf {

// C x H x W from "3x32x32"; "" is no shape. Throws UserError.
Shape ParseImageShape(const std::string& text);

// Random pixels and labels for the net, always the same.
Batch SyntheticBatch(const Net& net);

}  // namespace gf
