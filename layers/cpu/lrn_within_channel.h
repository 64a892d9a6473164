#pragma once

#include <memory>

#include "layers/kernel.h"
#include "layers/lrn.h"

namespace gf {

std::unique_ptr<Kernel> NewLrnWithinChannel(const LrnLayer& layer, const KernelContext& context);

}  // namespace gf
