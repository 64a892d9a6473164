#pragma once

#include <memory>

#include "layers/inner_product.h"
#include "layers/kernel.h"

namespace gf {

// Note [Thin products]
// With few rows (images per rank), an InnerProduct of many weights waits for memory: W is read once
// forward and once backward, and its gradient is written. oneDNN's general matrix product gets less
// than half of a core's bandwidth then; kernels that fetch the next rows of W ahead and store the
// gradient past the cache get most of it (alexnet_bn, 8 images, one core: 2.3 times as fast).

// Whether that is faster here.
bool ThinInnerProductPays(const InnerProductLayer& layer, const KernelPlan& plan);

std::unique_ptr<Kernel> NewThinInnerProduct(const InnerProductLayer& layer,
                                            const KernelContext& context);

}  // namespace gf
