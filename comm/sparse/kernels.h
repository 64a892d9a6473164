#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/simd.h"

namespace gf {

// What sparse communication does to ranges of the pools. Gradients lie in memory as FP32 or BF16
// (`g`), residuals as FP32 (`h`), and packed gradients as FP32, BF16 or FP16 (`packed`). Sums are
// made in FP32 and rounded once, to nearest even. Arrays need not be aligned and do not overlap;
// float, uint16_t (BF16, FP16).
//
// Norms are L1, in FP32 partial sums of at most 128 elements that are added in double. Like all
// results they have the same bits on every instruction set.
struct SparseFunctions {
  // Not communicated: h[i] = momentum * (g[i] + h[i]). Returns the norm of g + h from before.
  // momentum = 1 keeps everything (no momentum correction).
  double (*keep)(const void* g, float* h, int64_t count, float momentum);
  // Communicated: packed[i] = g[i] + h[i], h[i] = 0. Where h is 0, g passes unchanged, -0 included.
  void (*pack)(const void* g, float* h, void* packed, int64_t count);
  // Like pack, in place: g[i] = g[i] + h[i], h[i] = 0.
  void (*merge)(void* g, float* h, int64_t count);
  // After the allreduce: g[i] = packed[i]. Returns the norm of `packed`.
  double (*unpack)(const void* packed, void* g, int64_t count);
  // The norm of g.
  double (*norm)(const void* g, int64_t count);
};
struct SparseKernels {
  SparseFunctions fp32_fp32, fp32_bf16, fp32_fp16, bf16_fp32, bf16_bf16, bf16_fp16;  // g_packed
};
GF_SIMD_DECLARE(SparseKernels, Sparse)

}  // namespace gf
