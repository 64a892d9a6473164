#include "layers/cuda/map_inline.h"
#include "layers/cuda/pointwise_kernels.h"

namespace gf {
namespace {

template <typename F>
struct ValueOf {
  F f;
  __device__ float operator()(float x, float) const { return f.Value(x); }
};

template <typename F>
struct GradientOf {
  F f;
  __device__ float operator()(float x, float dy) const { return dy * f.Slope(x); }
};

}  // namespace

void ApplyPointwise(const Pointwise& f, DType type, const void* x, void* y, int64_t count,
                    cudaStream_t stream) {
  WithPointwise(f, [&](const auto& each) {
    using F = std::decay_t<decltype(each)>;
    RunMap(type, x, x, y, ValueOf<F>{each}, count, stream);
  });
}

void PointwiseGradient(const Pointwise& f, DType type, const void* x, const void* dy, void* dx,
                       int64_t count, cudaStream_t stream) {
  WithPointwise(f, [&](const auto& each) {
    using F = std::decay_t<decltype(each)>;
    RunMap(type, x, dy, dx, GradientOf<F>{each}, count, stream);
  });
}

}  // namespace gf
