#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gf {

// Two plain tensors, one of which is a part of the other: index i of an axis of the target is index
// i + shift of the source.
struct CropView {
  static constexpr int kMostAxes = 12;

  int axes = 0;           // at least 1
  int64_t to[kMostAxes];  // extents; all but the first together have fewer than 2^31 elements
  int64_t from[kMostAxes];
  int64_t shift[kMostAxes];
};

// to[i0, i1, ...] = from[i0 + shift[0], i1 + shift[1], ...], or 0 where the source has no such
// element. Elements have 2 or 4 bytes.
void CopyShifted(const CropView& view, size_t element_bytes, const void* from, void* to,
                 cudaStream_t stream);

}  // namespace gf
