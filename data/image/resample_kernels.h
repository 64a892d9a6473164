#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// Weighted sums of the rows of one type of pixels. Sums and weights are floats or integers. Integer
// weights are in units of 2^-kFixedBits, and only the final result is rounded.
template <typename T>
struct RowLoops {
  // sums[i] = weight * row[i], or, with `add`, sums[i] += weight * row[i].
  void (*accumulate)(const void* row, int64_t count, T weight, bool add, T* sums);
  // Rounds to the type of the row and limits to its range; floats stay as they are.
  void (*round)(const T* from, int64_t count, void* to);
};

// Output pixel i = sum over k < taps of weights[(i * taps + k) * 4] x pixel starts[i] + k. A pixel
// has 1 to kMostLanes numbers ("lanes"). `weights` repeats each weight four times; `taps` is a
// multiple of 4.
template <typename T>
using CombineLoop = void (*)(const T* pixels, int lanes, const int* starts, const T* weights,
                             int taps, int64_t outputs, T* to);

struct ResampleKernels {
  static constexpr int kFixedBits = 22;
  static constexpr int kMostLanes = 16;

  RowLoops<float> rows[3];  // of UINT8, UINT16 and FP32
  CombineLoop<float> combine;
  RowLoops<int32_t> fixed_rows;  // of UINT8
  CombineLoop<int32_t> combine_fixed;
};

GF_SIMD_DECLARE(ResampleKernels, ResampleTable)

}  // namespace gf
