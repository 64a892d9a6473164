#pragma once

#include <memory>

#include "layers/inner_product.h"
#include "layers/kernel.h"

namespace gf {

// Note [Thin products]
// With few rows (images per rank), an InnerProduct with many weights is bound by memory: forward
// and backward each read W once, and backward writes its gradient. Kernels that prefetch the next
// rows of W and store the gradient past the cache take half the time of oneDNN's general products,
// up to about 16 images (alexnet_bn, 8 images, one core: 51 instead of 97 ms).

// Whether these kernels are faster for this layer.
bool ThinInnerProductPays(const InnerProductLayer& layer, const KernelPlan& plan);

std::unique_ptr<Kernel> NewThinInnerProduct(const InnerProductLayer& layer,
                                            const KernelContext& context);

}  // namespace gf
