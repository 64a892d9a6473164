#pragma once

#include <cstdint>

namespace gf {

// Note [Depthwise convolutions]
// A depthwise convolution has one input channel per group; each channel has `multiplier` filters,
// and results [c * multiplier, (c + 1) * multiplier) see channel c alone. It has few operations per
// byte, so its time is the time that memory takes. The libraries have fast kernels for some of
// these convolutions only, and compute the others as many small matrix products. Each device has
// kernels of its own for all of them:
//  - Processors (layers/cpu/depthwise_convolution.h) use these kernels where oneDNN names no kernel
//    for depthwise convolutions for one of the passes, and for BF16 where oneDNN would convert all
//    images to FP32 (Note [FP32 arithmetic on BF16 tensors], layers/cpu/weighted.h).
//  - GPUs (layers/cuda/depthwise_kernels.h) time them against cuDNN. Deterministic runs, which do
//    not time, always use them.

// Which implementation computes depthwise convolutions whose kernels are built from now on.
enum class DepthwiseWay {
  kFaster,   // the rule of Note [Depthwise convolutions]
  kOwn,      // the project's own kernels wherever they can
  kLibrary,  // oneDNN or cuDNN
};

// Of this process; kFaster unless tests and benchmarks set it. Not thread-safe.
inline DepthwiseWay& WayOfDepthwise() {
  static DepthwiseWay way = DepthwiseWay::kFaster;
  return way;
}

// Whether the project's own kernels may compute a convolution of images with `channels` channels in
// `groups` groups. A single channel in a single group is an ordinary convolution, which libraries
// compute well: it is taken only by request.
inline bool MayBeOwnDepthwise(int64_t groups, int64_t channels) {
  const DepthwiseWay way = WayOfDepthwise();
  return groups == channels && way != DepthwiseWay::kLibrary &&
         (groups > 1 || way == DepthwiseWay::kOwn);
}

}  // namespace gf
