#include "layers/cpu/winograd_product_kernels.h"

#include "core/simd_vector.h"

namespace gf {
namespace {

constexpr int kLanes = kNativeLanes;
using V = Vec<kLanes>;

// Into the first and into the second cache.
GF_INLINE void PrefetchNear(const void* p) { __builtin_prefetch(p); }
GF_INLINE void PrefetchFar(const void* p) { __builtin_prefetch(p, /*rw=*/0, /*locality=*/2); }

// Rows whose sums stay in registers.
constexpr int kMostRows = kLanes == 16 ? 12 : 4;

template <int kCount, int kVectors>
void MultiplyRows(const WinogradProduct& p, int64_t first) {
  float* const c = p.c + first * p.c_row;
  // The next rows, of this product or of the next one.
  const bool ahead = p.add && (first + kCount < p.rows || p.next_b != nullptr);
  V sums[kCount][kVectors];
  for (int i = 0; i < kCount; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      sums[i][v] = p.add ? LoadVec<kLanes>(c + i * p.c_row + v * kLanes) : V{};
      if (ahead) PrefetchNear(c + (kCount + i) * p.c_row + v * kLanes);
    }
  }
  // Few pointers, so that they stay in registers, too.
  constexpr int kTogether = 3, kPointers = (kCount + kTogether - 1) / kTogether;
  const float* a[kPointers];
  for (int i = 0; i < kPointers; ++i) a[i] = p.a + (first + i * kTogether) * p.a_row;
  const float* b = p.b;
  for (int64_t k = 0; k < p.depth; ++k) {
    V vectors[kVectors];
    for (int v = 0; v < kVectors; ++v) vectors[v] = LoadVec<kLanes>(b + v * kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < kCount; ++i) {
      const V value = Broadcast<kLanes>(a[i / kTogether][i % kTogether * p.a_row]);
      for (int v = 0; v < kVectors; ++v) sums[i][v] += value * vectors[v];
    }
    for (int i = 0; i < kPointers; ++i) a[i] += p.a_step;
    b += p.b_step;
  }
  for (int i = 0; i < kCount; ++i) {
    for (int v = 0; v < kVectors; ++v) StoreVec<kLanes>(c + i * p.c_row + v * kLanes, sums[i][v]);
  }
}

// Parts of nearly equal numbers of rows.
template <int kVectors>
GF_INLINE void MultiplyAll(const WinogradProduct& p) {
  const int64_t parts = (p.rows + kMostRows - 1) / kMostRows;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = p.rows * part / parts, count = p.rows * (part + 1) / parts - first;
    if (p.next_b != nullptr) {
      for (int64_t k = p.depth * part / parts; k < p.depth * (part + 1) / parts; ++k) {
        for (int v = 0; v < kVectors; ++v) PrefetchFar(p.next_b + k * p.b_step + v * kLanes);
      }
    }
    ForEach<kMostRows>([&](auto i) {
      if (count == i.kValue + 1) MultiplyRows<i.kValue + 1, kVectors>(p, first);
    });
  }
}

void Multiply(const WinogradProduct& p) {
  p.columns == kLanes ? MultiplyAll<1>(p) : MultiplyAll<2>(p);
}

}  // namespace

GF_SIMD_DEFINE(WinogradProductKernels, WinogradProducts) = {&Multiply};

}  // namespace gf
