#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// c[i, :] = sum over k of a[i, k] * b[k, :], added in the order of k to c's old values if `add`.
// `columns`: WinogradTable().lanes or twice as many.
struct WinogradProduct {
  int64_t rows = 0, depth = 0;
  int columns = 0;
  const float* a = nullptr;
  int64_t a_row = 0, a_step = 0;  // elements from row to row, from k to k
  const float* b = nullptr;
  int64_t b_step = 0;
  // b of the next product of this thread, which is read ahead, and whose c follows this c; null:
  // unknown.
  const float* next_b = nullptr;
  float* c = nullptr;
  int64_t c_row = 0;
  bool add = false;
};

struct WinogradProductKernels {
  void (*multiply)(const WinogradProduct& product);
};
GF_SIMD_DECLARE(WinogradProductKernels, WinogradProducts)

}  // namespace gf
