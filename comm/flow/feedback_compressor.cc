#include "comm/feedback/feedback_arithmetic.h"
#include "comm/flow/compressed_flow.h"
#include "comm/flow/compressor.h"
#include "comm/flow/dense_buckets.h"
#include "core/error.h"

namespace gf {
namespace {

// Note [Error feedback]
// Every gradient travels, in the buckets of the mode. What rounding to the wire type takes from a
// rank's gradient is kept in its residual and added in the next step (Seide et al., "1-bit
// stochastic gradient descent", 2014; Karimireddy et al., arXiv 1901.09847). So the sums of many
// steps lack one rounding per rank, not one per step. The partial sums of an allreduce are rounded
// as without feedback: a rank that adds knows nothing of what it will add in the next step.
class FeedbackCompressor : public Compressor {
 public:
  explicit FeedbackCompressor(const CompressedPool& pool)
      : buckets_(pool), residual_(pool.NewTensor(pool.layout.count(), DType::kFP32)) {
    const DType type = pool.gradients.desc.dtype;
    if (type != DType::kFP32) {
      ThrowUserError("comm.error_feedback: gradients are ", Name(type),
                     ", expected FP32: set compute_type to FP32, or error_feedback to false");
    }
    arithmetic_ = FeedbackArithmeticRegistry::Get().Create(
        "device of comm.error_feedback", pool.options.device->name(), pool.options.device,
        FeedbackPools{pool.gradients, residual_, pool.wire});
  }

  void Begin(int64_t) override { buckets_.Begin(); }

  std::vector<Parcel> Ready(int ready) override {
    return buckets_.Ready(ready, [&](const Bucket& b) { arithmetic_->Round(b.range()); });
  }

  Arrival Arrived() override { return buckets_.Arrived(); }

  std::vector<Bucket> Buckets() const override { return buckets_.buckets(); }
  int64_t LargestMessage() const override { return buckets_.LargestMessage(); }
  DType memory_type() const override { return DType::kFP32; }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"residual", residual_}};
  }
  void Rescale(float factor) override {
    if (factor != 1) arithmetic_->Rescale(factor);
  }

 private:
  DenseBuckets buckets_;
  const Tensor residual_;
  std::unique_ptr<FeedbackArithmetic> arithmetic_;
};

const bool registered = RegisterCompressor<FeedbackCompressor>("error_feedback");

}  // namespace
}  // namespace gf
