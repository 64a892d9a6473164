#pragma once

#include <array>
#include <cstdint>

#include "layers/convolution.h"
#include "layers/cpu/winograd_tiles.h"
#include "layers/kernel.h"

namespace gf {

// How our own kernels divide the results of a pass, and what that costs.
struct WinogradPlan {
  std::array<WinogradSplit, 2> splits;  // of height and width
  // The time of the pass in multiply-adds of a product of matrices.
  double cost = 0;
};

// The plan with the lowest cost for `images` images with these results. `inputs` and `outputs`:
// channels of the pass; `most_points`: of a tile along an axis.
WinogradPlan PlanWinograd(int64_t images, const std::array<int64_t, 2>& results, WinogradForm form,
                          int64_t inputs, int64_t outputs, int most_points);

// The form of a layer's forward pass.
WinogradForm FormOf(const ConvolutionLayer& layer);

// The most points of a layer's tiles along an axis: as many as the rounding errors of `type` (of
// the tensors) allow, Note [Winograd's algorithm], and at least as many as in FP32; 9 with
// stride 2. Transformed filters take up to 256 MiB, those that are kept between calls up to 16 MiB;
// 0 if they take more.
int MostPoints(const KernelSetup& setup, WinogradForm form, DType type);

// Note [Choice of Winograd's algorithm]
// Our own kernels (layers/cpu/winograd_kernels.h) compute convolutions of 3x3 and 5x5 with stride 1
// in FP32, and convolutions of 3x3 with stride 2 and one pixel of padding. The time that they would
// take is estimated and compared with a direct convolution's, which reaches the speed of a product
// of matrices. oneDNN 2 has Winograd's algorithm, too, for 3x3 on AVX-512, with tiles of 4x4
// results; ours is faster, since its tiles fit the results better.
//
// BF16 tensors are computed in FP32, without copies. Where the processor has BF16 units, a direct
// convolution is twice as fast as in FP32; with AMX it is always faster.
//
// Without a backward pass (evaluation, frozen layers) the choice ignores the number of images, so
// that all batches give the same bits. It is made for four images and for few channels, since
// transformed filters are kept then and should not take much memory.

// Which implementation computes convolutions whose kernels are built from now on.
enum class WinogradWay {
  kFaster,   // the rule of Note [Choice of Winograd's algorithm]
  kOwn,      // our own kernels wherever they can
  kLibrary,  // oneDNN
};

// Of this process; kFaster unless tests set it. Not thread-safe.
inline WinogradWay& WayOfWinograd() {
  static WinogradWay way = WinogradWay::kFaster;
  return way;
}

// The number of images for which a layer's plan is made.
int64_t ImagesOfPlan(const KernelSetup& setup);

// Whether our own kernels are to be used. `setup` is as the net gives it to the kernel.
bool WinogradPays(const ConvolutionLayer& layer, const KernelSetup& setup,
                  const KernelContext& context);

}  // namespace gf
