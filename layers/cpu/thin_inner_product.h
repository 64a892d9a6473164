#pragma once

#include <memory>

#include "layers/inner_product.h"
#include "layers/kernel.h"

namespace gf {

// Note [Thin products]
// With few rows (images per rank), an InnerProduct of many weights waits for memory: W is read once
// forward and once backward, and its gradient is written. Kernels that fetch the next rows of W
// ahead and store the gradient past the cache need half the time of oneDNN's general products
// (alexnet_bn, 8 images, one core: 51 instead of 97 ms), up to about 16 images.

// Whether that is faster here.
bool ThinInnerProductPays(const InnerProductLayer& layer, const KernelPlan& plan);

std::unique_ptr<Kernel> NewThinInnerProduct(const InnerProductLayer& layer,
                                            const KernelContext& context);

}  // namespace gf
