#include "layers/cuda/map_inline.h"
#include "layers/cuda/relu_kernels.h"

namespace gf {
namespace {

struct Clip {
  float slope;
  // Returns x or slope * x, depending on `sign`. NaN stays NaN; 0 * infinity must not become NaN.
  __device__ float operator()(float x, float sign) const {
    if (!(sign <= 0)) return x;
    return slope == 0 ? 0 : slope * x;
  }
};

struct Sigmoid {
  __device__ float operator()(float x, float) const { return 1 / (1 + expf(-x)); }
};
struct SigmoidGradient {
  __device__ float operator()(float y, float dy) const { return dy * y * (1 - y); }
};
struct Tanh {
  __device__ float operator()(float x, float) const { return tanhf(x); }
};
struct TanhGradient {
  __device__ float operator()(float y, float dy) const { return dy * (1 - y * y); }
};

}  // namespace

void Relu(DType type, const void* x, void* y, float slope, int64_t count, cudaStream_t stream) {
  RunMap(type, x, x, y, Clip{slope}, count, stream);
}

void ReluGradient(DType type, const void* dy, const void* sign, void* dx, float slope,
                  int64_t count, cudaStream_t stream) {
  RunMap(type, dy, sign, dx, Clip{slope}, count, stream);
}

void Activate(Activation which, DType type, const void* x, void* y, int64_t count,
              cudaStream_t stream) {
  if (which == Activation::kSigmoid) {
    RunMap(type, x, x, y, Sigmoid(), count, stream);
  } else {
    RunMap(type, x, x, y, Tanh(), count, stream);
  }
}

void ActivationGradient(Activation which, DType type, const void* y, const void* dy, void* dx,
                        int64_t count, cudaStream_t stream) {
  if (which == Activation::kSigmoid) {
    RunMap(type, y, dy, dx, SigmoidGradient(), count, stream);
  } else {
    RunMap(type, y, dy, dx, TanhGradient(), count, stream);
  }
}

}  // namespace gf
