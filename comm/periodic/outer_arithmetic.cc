#include "comm/periodic/outer_arithmetic.h"

#include <cstring>

#include "comm/periodic/kernels.h"
#include "core/parallel.h"

namespace gf {
namespace {

// Elements that a thread takes at once, at least.
constexpr int64_t kGrain = 4096;

class CpuOuterArithmetic : public OuterArithmetic {
 public:
  CpuOuterArithmetic(Device*, const OuterPools& pools, const OuterFactors& factors)
      : pools_(pools), factors_(factors) {}

  void Anchor() override {
    const float* const from = pools_.weights.as<float>();
    float* const to = pools_.anchor.as<float>();
    ParallelFor(pools_.anchor.desc.storage_count(), kGrain, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, (end - begin) * sizeof(float));
    });
  }

  void Subtract(const ElementRange& range) override {
    ForPieces(range, [&](int64_t begin, int64_t count) {
      Outer().subtract(pools_.anchor.as<float>() + begin, pools_.weights.as<float>() + begin,
                       pools_.differences.as<float>() + begin, count);
    });
  }

  void Step(const ElementRange& range) override {
    const float scale = 1.f / static_cast<float>(factors_.world);
    ForPieces(range, [&](int64_t begin, int64_t count) {
      const float* const d = pools_.differences.as<float>() + begin;
      float* const a = pools_.anchor.as<float>() + begin;
      float* const w = pools_.weights.as<float>() + begin;
      if (pools_.velocity.data == nullptr)
        return Outer().step(d, a, w, count, scale, factors_.rate);
      Outer().step_with_momentum(d, pools_.velocity.as<float>() + begin, a, w, count, scale,
                                 factors_.rate, factors_.momentum);
    });
  }

  void Return(const ElementRange& range) override {
    ForPieces(range, [&](int64_t begin, int64_t count) {
      std::memcpy(pools_.weights.as<float>() + begin, pools_.anchor.as<float>() + begin,
                  count * sizeof(float));
    });
  }

 private:
  // Calls body(begin, count) in parallel for pieces of the range.
  template <typename Body>
  static void ForPieces(const ElementRange& range, const Body& body) {
    ParallelFor(range.end - range.begin, kGrain,
                [&](int64_t begin, int64_t end) { body(range.begin + begin, end - begin); });
  }

  const OuterPools pools_;
  const OuterFactors factors_;
};

GF_REGISTER(OuterArithmeticRegistry, "cpu", CpuOuterArithmetic);

}  // namespace
}  // namespace gf
