#include "comm/feedback/feedback_arithmetic.h"

#include "comm/feedback/kernels.h"
#include "core/parallel.h"

namespace gf {
namespace {

// Elements that a thread takes at once, at least.
constexpr int64_t kGrain = 4096;

class CpuFeedbackArithmetic : public FeedbackArithmetic {
 public:
  explicit CpuFeedbackArithmetic(const FeedbackPools& pools)
      : pools_(pools), round_(pools.wire == DType::kBF16 ? Feedback().bf16 : Feedback().fp16) {}

  void Round(const ElementRange& range) override {
    float* const g = pools_.gradients.as<float>() + range.begin;
    float* const h = pools_.residual.as<float>() + range.begin;
    ParallelFor(range.end - range.begin, kGrain,
                [&](int64_t begin, int64_t end) { round_(g + begin, h + begin, end - begin); });
  }

  void Rescale(float factor) override {
    ScaleResidual(pools_.residual.as<float>(), pools_.residual.desc.storage_count(), factor);
  }

 private:
  const FeedbackPools pools_;
  void (*const round_)(float* g, float* h, int64_t n);
};

const bool registered = FeedbackArithmeticRegistry::Get().Add(
    "cpu", [](Device*, const FeedbackPools& pools) -> std::unique_ptr<FeedbackArithmetic> {
      return std::make_unique<CpuFeedbackArithmetic>(pools);
    });

}  // namespace

void ScaleResidual(float* residual, int64_t count, float factor) {
  ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) residual[i] *= factor;
  });
}

}  // namespace gf
