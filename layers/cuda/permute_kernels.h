#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gf {

// A tensor to be written in its plain order, and where its elements come from.
struct PermuteView {
  static constexpr int kMostAxes = 12;

  int axes = 0;                // at least 1
  int64_t dims[kMostAxes];     // of the result; all but the first together have fewer than 2^31
  int64_t strides[kMostAxes];  // in the source, by axis of the result, in elements
};

// to[i0, i1, ...] = from[i0 * strides[0] + i1 * strides[1] + ...]; elements have 2 or 4 bytes.
void Permute(const PermuteView& view, size_t element_bytes, const void* from, void* to,
             cudaStream_t stream);

}  // namespace gf
