#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Tensors of one shape and type, and the settings of an Eltwise layer. Results are computed in FP32
// and rounded once.
struct EltwiseTensors {
  static constexpr int kMost = 32;

  const void* bottoms[kMost] = {};
  float coefficients[kMost] = {};  // for sums
  int bottom_count = 0;
  bool relu = false;
  void* top = nullptr;
  uint8_t* winners = nullptr;  // of maxima: which bottom; may be null

  // Backward: gradients of the top, which are added up; gradients of the bottoms, null where not
  // needed.
  const void* top_diffs[4] = {};
  int top_diff_count = 0;
  void* bottom_diffs[kMost] = {};
};

enum class EltwiseKind { kSum, kProduct, kMaximum };

void EltwiseForward(EltwiseKind kind, DType type, const EltwiseTensors& tensors, int64_t count,
                    cudaStream_t stream);
void EltwiseBackward(EltwiseKind kind, DType type, const EltwiseTensors& tensors, int64_t count,
                     cudaStream_t stream);

// to = sum of `how_many` >= 1 tensors; `to` may be one of them.
void AddUp(DType type, const void* const* from, int how_many, void* to, int64_t count,
           cudaStream_t stream);

}  // namespace gf
