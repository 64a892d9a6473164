#include <glog/logging.h>

#include <cmath>

#include "core/error.h"
#include "solvers/pool_ranges.h"
#include "solvers/solver.h"
#include "solvers/update_kernels.h"

namespace gf {
namespace {

// Stochastic gradient descent as Caffe defines it:
//   v = momentum * v + lr * lr_mult * (g + weight_decay * decay_mult * w);  w -= v.
class Sgd : public Solver {
 public:
  Sgd(const SolverConfig& config, ParameterStore* store)
      : store_(store), momentum_(config.momentum()), decay_(config.weight_decay()) {
    if (!(momentum_ >= 0 && momentum_ < 1)) {
      ThrowUserError("solver.momentum is ", momentum_, ", expected 0 <= momentum < 1");
    }
    if (!(decay_ >= 0) || std::isinf(decay_)) {
      ThrowUserError("solver.weight_decay is ", decay_, ", expected a number >= 0");
    }
    Device* device = store->device();
    velocity_.desc = {Shape({store->layout().count()}), DType::kFP32, Layout()};
    velocity_.owner = device->Allocate(velocity_.desc.bytes());
    velocity_.data = velocity_.owner.get();
    // Written before it is read: a page that is read first is taken twice.
    device->Zero(velocity_.data, velocity_.desc.bytes(), device->compute_stream());
  }

  void Update(int64_t from, int64_t to, double lr, double gradient_scale) override {
    const UpdateKernels& kernels = Updates();
    float* const w = store_->master().as<float>();
    float* const v = velocity_.as<float>();
    const Tensor &gradient = store_->gradient(), &compute = store_->compute();
    const DType type = gradient.desc.dtype;
    CHECK(type == DType::kFP32 || type == DType::kBF16) << Name(type);
    CHECK(type == compute.desc.dtype) << Name(compute.desc.dtype);
    ForEntries(store_->layout(), from, to, [&](const PoolEntry& entry, int64_t begin, int64_t end) {
      SgdFactors factors;
      factors.rate = static_cast<float>(lr * entry.lr_mult);
      factors.momentum = momentum_;
      factors.decay = decay_ * entry.decay_mult;
      factors.scale = static_cast<float>(gradient_scale);
      const int64_t n = end - begin;
      if (type == DType::kFP32) {
        kernels.sgd(w + begin, v + begin, gradient.as<float>() + begin, n, factors);
      } else {
        kernels.sgd_bf16(w + begin, compute.as<uint16_t>() + begin, v + begin,
                         gradient.as<uint16_t>() + begin, n, factors);
      }
    });
  }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"momentum", velocity_}};
  }

 private:
  ParameterStore* store_;
  float momentum_, decay_;
  Tensor velocity_;
};

GF_REGISTER_SOLVER("SGD", Sgd);

}  // namespace
}  // namespace gf
