#include "solvers/pool_arithmetic.h"

#include <atomic>

#include "core/parallel.h"
#include "solvers/update_kernels.h"

namespace gf {
namespace {

class CpuPoolArithmetic : public PoolArithmetic {
 public:
  void Add(const Tensor& gradients, const ElementRange& range, const Tensor& sums) override {
    ForBlocks(gradients, range, [&](const auto& kernels, auto* g, int64_t begin, int64_t count) {
      kernels.add(sums.as<float>() + begin, g + begin, count);
    });
  }

  void Merge(const Tensor& gradients, const ElementRange& range, const Tensor& sums) override {
    ForBlocks(gradients, range, [&](const auto& kernels, auto* g, int64_t begin, int64_t count) {
      kernels.merge(g + begin, sums.as<float>() + begin, count);
    });
  }

  bool Finite(const Tensor& gradients, const ElementRange& range) override {
    std::atomic<bool> finite{true};
    ForBlocks(gradients, range, [&](const auto& kernels, auto* g, int64_t begin, int64_t count) {
      if (!kernels.finite(g + begin, count)) finite = false;
    });
    return finite;
  }

  void Average(const Tensor& pool, double share, const Tensor& mean) override {
    ParallelFor(pool.desc.shape.count(), kGrain, [&](int64_t begin, int64_t end) {
      Updates().average(pool.as<float>() + begin, static_cast<float>(share),
                        mean.as<float>() + begin, end - begin);
    });
  }

 private:
  static constexpr int64_t kGrain = 4096;

  // Calls body(kernels, pool, first element, count) in parallel.
  template <typename Body>
  static void ForBlocks(const Tensor& gradients, const ElementRange& range, const Body& body) {
    ParallelFor(range.end - range.begin, kGrain, [&](int64_t begin, int64_t end) {
      if (gradients.desc.dtype == DType::kFP32) {
        body(Updates().fp32, gradients.as<float>(), range.begin + begin, end - begin);
      } else {
        body(Updates().bf16, gradients.as<uint16_t>(), range.begin + begin, end - begin);
      }
    });
  }
};

const bool registered =
    PoolArithmeticRegistry::Get().Add("cpu", [](Device*) -> std::unique_ptr<PoolArithmetic> {
      return std::make_unique<CpuPoolArithmetic>();
    });

}  // namespace

Accumulator::Accumulator(ParameterStore* store)
    : store_(store), arithmetic_(NewPoolArithmetic(store->device())) {
  Device* device = store->device();
  sum_.desc = {Shape({store->layout().count()}), DType::kFP32, Layout()};
  sum_.owner = device->Allocate(sum_.desc.bytes());
  sum_.data = sum_.owner.get();
}

ElementRange Accumulator::RangeOf(int entry) const {
  const PoolEntry& e = store_->layout().entries()[entry];
  return {e.offset, e.offset + e.count};
}

void Accumulator::Add(const std::vector<int>& entries) {
  for (int entry : entries) arithmetic_->Add(store_->gradient(), RangeOf(entry), sum_);
}

void Accumulator::Merge(const std::vector<int>& entries) {
  for (int entry : entries) arithmetic_->Merge(store_->gradient(), RangeOf(entry), sum_);
}

}  // namespace gf
