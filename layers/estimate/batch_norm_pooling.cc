#include "layers/batch_norm_pooling.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

// The normalized blob is in no memory: both directions read the bottom, and backward finds the
// gradient by the taps of the maxima, a byte per element of the top.
class BatchNormPoolingEstimate : public EstimateKernel {
 public:
  BatchNormPoolingEstimate(const BatchNormPoolingLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    const Shape &bottom = setup->bottoms[0].shape, &top = setup->tops[0].shape;
    setup->bottoms[0].layout = WantedLayout(bottom);
    setup->tops[0].layout = WantedLayout(top);
    if (!setup->backward) return;
    taps_ = top.count();
    constexpr size_t kSavedRows = 4;
    setup->saved_bytes = kSavedRows * ((bottom[1] * sizeof(float) + 63) / 64 * 64) + taps_;
    setup->needs_bottom[0] = true;
    setup->gradient_over_bottom = true;
  }

  void ForwardCost(const KernelArgs&) override {
    if (!layer_.sums()) Move(OperationKind::kBatchNormStatistics, Bottom());
    Move(OperationKind::kBatchNormApply, Bottom() + Top() + taps_);
  }

  void BackwardCost(const KernelArgs& args) override {
    Move(OperationKind::kBatchNormSums, Bottom() + Top() + taps_);
    if (args.bottom_diffs[0] == nullptr) return;
    Move(OperationKind::kBatchNormGradient, 2 * Bottom() + Top() + taps_);
  }

 private:
  const BatchNormPoolingLayer& layer_;
  int64_t taps_ = 0;  // bytes
};

GF_REGISTER(KernelRegistry, "cuda_estimate/_BatchNormPooling",
            KernelOf<BatchNormPoolingLayer, BatchNormPoolingEstimate>);

}  // namespace
}  // namespace gf
