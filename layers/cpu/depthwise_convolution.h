#pragma once

#include <memory>

#include "layers/convolution.h"
#include "layers/kernel.h"

namespace gf {

// A kernel for a convolution whose groups have one channel each, of any filter size, stride,
// padding and dilation, and with any number of filters per channel. It keeps the bottom's layout if
// channels are in blocks of 16 or 8, or last; parameters are in plain order. Images and results
// have the compute type, filters and sums are FP32. Results do not depend on the number of threads.
std::unique_ptr<Kernel> NewDepthwiseConvolution(const ConvolutionLayer& layer,
                                                const KernelContext& context);

}  // namespace gf
