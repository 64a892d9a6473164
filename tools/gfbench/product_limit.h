#pragma once

#include "core/device.h"

namespace gf {

// FLOP/s of a large product of square matrices in this type on the device, the best of some sizes
// that take no longer than some tens of milliseconds: what arithmetic can reach here at most.
double ProductLimit(DType compute, Device* device);

}  // namespace gf
