#include "comm/periodic/cuda/outer_kernels.h"
#include "core/cuda/launch_inline.h"

namespace gf {
namespace {

struct SubtractRun {
  OuterArrays arrays;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> a = LoadFloats<kCount>(arrays.anchor + i);
    const Floats<kCount> w = LoadFloats<kCount>(arrays.weights + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) a.v[k] -= w.v[k];
    StoreFloats(arrays.differences + i, a);
  }
};

// Products are rounded before they are added, as on the processor.
struct StepRun {
  OuterArrays arrays;
  float scale, rate;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> a = LoadFloats<kCount>(arrays.anchor + i);
    const Floats<kCount> d = LoadFloats<kCount>(arrays.differences + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      a.v[k] = __fadd_rn(a.v[k], -__fmul_rn(rate, __fmul_rn(scale, d.v[k])));
    }
    StoreFloats(arrays.anchor + i, a);
    StoreFloats(arrays.weights + i, a);
  }
};

struct MomentumRun {
  OuterArrays arrays;
  float scale, rate, momentum;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> a = LoadFloats<kCount>(arrays.anchor + i);
    Floats<kCount> v = LoadFloats<kCount>(arrays.velocity + i);
    const Floats<kCount> d = LoadFloats<kCount>(arrays.differences + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float mean = __fmul_rn(scale, d.v[k]);
      v.v[k] = __fadd_rn(__fmul_rn(momentum, v.v[k]), mean);
      const float ahead = __fadd_rn(__fmul_rn(momentum, v.v[k]), mean);
      a.v[k] = __fadd_rn(a.v[k], -__fmul_rn(rate, ahead));
    }
    StoreFloats(arrays.velocity + i, v);
    StoreFloats(arrays.anchor + i, a);
    StoreFloats(arrays.weights + i, a);
  }
};

}  // namespace

void SubtractFromAnchor(const OuterArrays& arrays, int64_t count, cudaStream_t stream) {
  ElementwiseFrom(count, SubtractRun{arrays}, stream, arrays.weights, arrays.anchor,
                  arrays.differences);
}

void OuterStep(const OuterArrays& arrays, int64_t count, float scale, float rate, float momentum,
               cudaStream_t stream) {
  if (arrays.velocity == nullptr) {
    ElementwiseFrom(count, StepRun{arrays, scale, rate}, stream, arrays.weights, arrays.anchor,
                    arrays.differences);
  } else {
    ElementwiseFrom(count, MomentumRun{arrays, scale, rate, momentum}, stream, arrays.weights,
                    arrays.anchor, arrays.differences, arrays.velocity);
  }
}

}  // namespace gf
