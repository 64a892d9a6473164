#include "layers/cpu/interp_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

// sums (+)= weight * x
template <typename T>
inline void AddScaled(const T* x, float weight, bool first, int64_t count, float* sums) {
  if (first) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) sums[i] = weight * Load(x + i);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) sums[i] += weight * Load(x + i);
  }
}

// The weighted sum of the rows.
template <typename T>
void SumRows(const InterpRow& r, const T* from, float* sums) {
  if (r.rows == 0) __builtin_memset(sums, 0, r.width * r.lanes * sizeof(float));
  const bool contiguous = r.lanes == r.stride;
  const int64_t runs = contiguous ? 1 : r.width;
  const int64_t run = contiguous ? r.width * r.lanes : r.lanes;
  for (int k = 0; k < r.rows; ++k) {
    const T* x = from + k * r.row_stride;
    for (int64_t i = 0; i < runs; ++i) {
      AddScaled(x + i * r.stride, r.row_weights[k], k == 0, run, sums + i * run);
    }
  }
}

template <typename T>
void Row(const InterpRow& r, const void* from, float* sums, void* to_data) {
  SumRows(r, static_cast<const T*>(from), sums);
  T* to = static_cast<T*>(to_data);
  const InterpTaps& c = r.columns;
  if (r.lanes == 1) {
    for (int64_t i = 0; i < r.out_width; ++i) {
      const float* x = sums + c.first[i];
      float sum = 0;
      for (int32_t k = c.begin[i]; k < c.begin[i + 1]; ++k) sum += c.weights[k] * *x++;
      Store(to + i * r.stride, sum);
    }
    return;
  }
  for (int64_t i = 0; i < r.out_width; ++i) {
    const float* x = sums + int64_t{c.first[i]} * r.lanes;
    float pixel[kInterpLanes];
    for (int l = 0; l < r.lanes; ++l) pixel[l] = 0;
    for (int32_t k = c.begin[i]; k < c.begin[i + 1]; ++k, x += r.lanes) {
      const float weight = c.weights[k];
#pragma omp simd
      for (int l = 0; l < r.lanes; ++l) pixel[l] += weight * x[l];
    }
#pragma omp simd
    for (int l = 0; l < r.lanes; ++l) Store(to + i * r.stride + l, pixel[l]);
  }
}

}  // namespace

GF_SIMD_DEFINE(InterpKernels, Interp) = {&Row<float>, &Row<uint16_t>};

}  // namespace gf
