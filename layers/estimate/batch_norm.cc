#include "layers/batch_norm.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class BatchNormEstimate : public EstimateKernel {
 public:
  BatchNormEstimate(const BatchNormLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

  bool CanRecompute() const override { return !layer_.add(); }

 protected:
  void Agree(KernelSetup* setup) override {
    const Shape& shape = setup->bottoms[0].shape;
    for (int i = 0; i < 1 + layer_.add(); ++i) setup->bottoms[i].layout = WantedLayout(shape);
    setup->tops[0].layout = WantedLayout(shape);
    if (!setup->backward) {
      setup->in_place = true;
      return;
    }
    constexpr size_t kSavedRows = 4;
    setup->saved_bytes = kSavedRows * ((shape[1] * sizeof(float) + 63) / 64 * 64);
    if (layer_.relu() && layer_.add()) mask_bytes_ = MaskBytes(setup->tops[0]);
    setup->saved_bytes += mask_bytes_;
    setup->needs_bottom[0] = true;
    setup->in_place_backward = true;
    if (layer_.normalized_add()) setup->needs_bottom[1] = setup->needs_bottom[2] = true;
    if (layer_.add() && setup->propagate[1]) {
      setup->in_place_backward_bottom = 1;
      setup->gradient_over_bottom = true;
    }
    setup->max_top_diffs = 2;
  }

  void ForwardCost(const KernelArgs& args) override {
    // Sums and running statistics are few numbers, which the same kernel reads.
    const bool own_pass = !layer_.global_statistics() && !layer_.sums();
    if (own_pass) Move(OperationKind::kBatchNormStatistics, Bottom());
    Normalize();
  }

  void BackwardCost(const KernelArgs& args) override {
    const bool two = args.top_diffs[0].size() > 1;
    // The gradient before the ReLU and the addition is stored if the residual needs it or if it
    // differs from the gradient of the top.
    const bool pair = layer_.normalized_add();
    const bool residual = layer_.add() && !pair && args.bottom_diffs[1] != nullptr;
    const bool keeps = residual || two || mask_bytes_ > 0;
    const int tensors = 2 + pair + two + keeps;  // x, the other operand, dy, dy2, dz
    Move(OperationKind::kBatchNormSums, tensors * Top() + mask_bytes_);
    const int results =
        (args.bottom_diffs[0] != nullptr) + (pair && args.bottom_diffs[1] != nullptr);
    if (results == 0) return;
    // x, dz and dx, then the other operand and its gradient.
    Move(OperationKind::kBatchNormGradient, (2 + pair + results) * Top());
  }

  void RecomputeCost() override { Normalize(); }

 private:
  void Normalize() const {
    Move(OperationKind::kBatchNormApply,
         Bottom() + Top() + (layer_.add() ? Bottom(1) : 0) + mask_bytes_);
  }

  // A byte for each pack of 16 bytes, or for each element if packs do not fit.
  static int64_t MaskBytes(const TensorDesc& top) {
    const auto pack = static_cast<int64_t>(16 / SizeOf(top.dtype));
    return top.shape.count() / (top.shape[1] % pack == 0 ? pack : 1);
  }

  const BatchNormLayer& layer_;
  int64_t mask_bytes_ = 0;  // where forward's results are positive, if backward asks
};

class BatchNormChannelsEstimate : public EstimateKernel {
 public:
  BatchNormChannelsEstimate(const BatchNormChannelsLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    setup->bottoms[0].layout = WantedLayout(setup->bottoms[0].shape);
    if (setup->backward) setup->needs_top[0] = true;
  }
  // Without sums it reads its bottom, else few numbers.
  void ForwardCost(const KernelArgs&) override {
    Move(OperationKind::kBatchNormStatistics, layer_.sums() ? 0 : Bottom());
  }
  void BackwardCost(const KernelArgs&) override { Move(OperationKind::kBatchNormSums, 0); }

 private:
  const BatchNormChannelsLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/BatchNorm", KernelOf<BatchNormLayer, BatchNormEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/_BatchNormPair",
            KernelOf<BatchNormLayer, BatchNormEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/_BatchNormChannels",
            KernelOf<BatchNormChannelsLayer, BatchNormChannelsEstimate>);

}  // namespace
}  // namespace gf
