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

 private:
  // Calls body(kernels, pool, first element, count) in parallel.
  template <typename Body>
  static void ForBlocks(const Tensor& gradients, const ElementRange& range, const Body& body) {
    constexpr int64_t kGrain = 4096;
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
}  // namespace gf
