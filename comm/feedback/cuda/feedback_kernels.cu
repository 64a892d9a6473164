#include "comm/feedback/cuda/feedback_kernels.h"
#include "core/cuda/launch_inline.h"

namespace gf {
namespace {

template <typename Wire>
struct RoundRun {
  float* g;
  float* h;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> x = LoadFloats<kCount>(g + i), rest = LoadFloats<kCount>(h + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float sum = x.v[k] + rest.v[k];
      x.v[k] = ToFloat(FromFloat<Wire>(sum));
      rest.v[k] = isfinite(x.v[k]) ? sum - x.v[k] : 0;
    }
    StoreFloats(g + i, x);
    StoreFloats(h + i, rest);
  }
};

struct RescaleRun {
  float* h;
  float factor;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> x = LoadFloats<kCount>(h + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) x.v[k] *= factor;
    StoreFloats(h + i, x);
  }
};

}  // namespace

void RoundWithFeedback(float* gradients, float* residual, int64_t count, DType wire,
                       cudaStream_t stream) {
  if (wire == DType::kBF16) {
    const RoundRun<__nv_bfloat16> run = {gradients, residual};
    ElementwiseFrom(count, run, stream, gradients, residual);
  } else {
    const RoundRun<__half> run = {gradients, residual};
    ElementwiseFrom(count, run, stream, gradients, residual);
  }
}

void RescaleResidual(float* residual, int64_t count, float factor, cudaStream_t stream) {
  Elementwise<4>(count, RescaleRun{residual, factor}, stream);
}

}  // namespace gf
