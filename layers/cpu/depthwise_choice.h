#pragma once

#include "layers/convolution.h"
#include "layers/kernel.h"

namespace gf {

// Note [oneDNN's depthwise kernels]
// oneDNN 2 and 3 compile kernels for depthwise convolutions with one filter per channel. They have
// none for several filters per channel; none for gradients of dilated filters; for the gradients of
// filters none with rows of more than three taps, with a horizontal stride beyond such a row, with
// a padding of more than half the filter, or with images smaller than a filter; and for some passes
// none in nhwc. All of these go to one small matrix product per channel ("gemm") or to the
// reference implementation ("ref").

// Whether our own kernels are faster than oneDNN (Note [Depthwise convolutions],
// layers/depthwise.h): oneDNN names no depthwise kernel for one of the passes. `setup` is as the
// net gives it to the kernel.
bool DepthwisePays(const ConvolutionLayer& layer, const KernelSetup& setup,
                   const KernelContext& context);

}  // namespace gf
