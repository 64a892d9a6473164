#pragma once

#include <memory>

#include "layers/convolution.h"
#include "layers/kernel.h"

namespace gf {

// A convolution by our own kernels for Winograd's algorithm: filters of 3x3 or 5x5 with stride 1,
// or of 3x3 with stride 2 and one pixel of padding; arithmetic is FP32. `WinogradPays`
// (layers/cpu/winograd_choice.h) says where it is fast.
std::unique_ptr<Kernel> NewWinogradConvolution(const ConvolutionLayer& layer,
                                               const KernelContext& context);

}  // namespace gf
