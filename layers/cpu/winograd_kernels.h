#pragma once

#include <cstdint>

#include "core/simd.h"
#include "layers/cpu/winograd_form.h"

namespace gf {

// See Note [Winograd's algorithm] (layers/cpu/winograd_points.h).

// The most points of a tile along an axis in FP32 with stride 1.
constexpr int kMostWinogradPointsOfFp32 = 8;

// Images or results of a convolution: channels in blocks, [n][channels / block][height][width]
// [block]; nhwc has one block. `block` and `channels` (with padding) are multiples of
// WinogradTable().lanes.
struct WinogradTensor {
  int64_t channels = 0, block = 0, height = 0, width = 0;
  bool large = false;  // too large for the caches: results pass them by
};

// A tile with size[i] points along axis i (0: height, 1: width).
struct WinogradTile {
  int64_t image = 0;
  int32_t result[2] = {};  // the first result
  int32_t size[2] = {};    // points
};

// A transformed tensor: FP32 [height's points][width's points][tile][channel]. Tiles with fewer
// points leave the others as they are.
struct WinogradSpace {
  float* data = nullptr;
  int64_t point_step = 0, tile_step = 0;  // elements
  int points = 0;                         // of the width

  // The part from a tile on.
  WinogradSpace AtTile(int64_t tile) const {
    WinogradSpace part = *this;
    part.data += tile * tile_step;
    return part;
  }
};

// T is float or uint16_t (BF16).
template <typename T>
struct WinogradFunctions {
  // The tiles' pixels of x; those outside of the image are zero. `pad`: before the first result.
  void (*images)(const WinogradTensor& tensor, const T* x, const WinogradTile* tiles, int64_t count,
                 WinogradForm form, const int64_t pad[2], const WinogradSpace& to);
  // The tiles' results of y in `channels` channels from `first` on, from the products of these
  // channels; adds the bias (of all channels; null: none), then applies a ReLU if `relu`.
  void (*results)(const WinogradTensor& tensor, int64_t first, int64_t channels,
                  const WinogradSpace& from, const WinogradTile* tiles, int64_t count,
                  WinogradForm form, const float* bias, bool relu, T* y);
  // The tiles' gradients of results dy, and their sums [tile][channel] (null: not needed). Not for
  // kStride2Data.
  void (*gradients)(const WinogradTensor& tensor, const T* dy, const WinogradTile* tiles,
                    int64_t count, WinogradForm form, const WinogradSpace& to, float* sums);
};

struct WinogradKernels {
  int lanes;  // channels that are computed together
  WinogradFunctions<float> fp32;
  WinogradFunctions<uint16_t> bf16;
  // One filter per lane, [taps][taps][lanes], to or from [filter's points][filter's points]: the
  // vector of element (i, j) at (i * filter's points + j) * step. `points`: of a tile.
  void (*filter)(const float* filter, WinogradForm form, int points, float* to, int64_t step);
  void (*filter_gradient)(const float* from, int64_t step, WinogradForm form, int points,
                          float* gradient);
};
GF_SIMD_DECLARE(WinogradKernels, WinogradTable)

// Tiles that a thread transforms together. The next one is read ahead.
constexpr int64_t kWinogradTilesTogether = 8;

template <typename T>
const WinogradFunctions<T>& FunctionsFor(const WinogradKernels& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return kernels.fp32;
  } else {
    return kernels.bf16;
  }
}

}  // namespace gf
