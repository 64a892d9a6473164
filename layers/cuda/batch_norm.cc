#include "layers/batch_norm.h"

#include <algorithm>

#include "layers/cuda/batch_norm_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

// The passes follow Note [Batch norm passes] of the CPU. With a residual, the gradient of the fused
// ReLU comes from a mask that forward saves, a bit per element, where the CPU reads y.
class BatchNormKernel : public RepeatingKernel {
 public:
  BatchNormKernel(const BatchNormLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {
    if (context.batch_norm_group != nullptr && !layer.global_statistics()) {
      layer.Fail("ranks cannot share statistics on device \"cuda\": set batch_norm_group: 1");
    }
  }

  void Setup(KernelSetup* setup) override {
    const Shape& shape = setup->bottoms[0].shape;
    for (int i = 0; i < 1 + layer_.add(); ++i) setup->bottoms[i].layout = WantedLayout(shape);
    setup->tops[0].layout = WantedLayout(shape);
    view_ = ColumnsOf(shape);
    arrived_ = CudaOf(context_)->Allocate(ColumnCountersBytes(view_, context_.compute));
    backward_ = setup->backward;
    const size_t sums = Aligned(ColumnSumsBytes(view_, context_.compute, 2));
    const size_t row = Aligned(view_.columns * sizeof(float));
    channels_bytes_ = row;
    if (!backward_) {
      setup->in_place = true;
      setup->forward_scratch_bytes = sums + kSavedRows * row;
      return;
    }
    setup->forward_scratch_bytes = sums;
    has_mask_ = layer_.relu() && layer_.add();
    setup->saved_bytes =
        kSavedRows * row + (has_mask_ ? BatchNormMaskBytes(view_, context_.compute) : 0);
    setup->backward_scratch_bytes = sums + kBackwardRows * row;
    sums_bytes_ = sums;
    setup->needs_bottom[0] = true;
    setup->in_place_backward = true;
    if (layer_.add() && setup->propagate[1]) {
      setup->in_place_backward_bottom = 1;
      setup->gradient_over_bottom = true;
    }
    setup->max_top_diffs = 2;
  }

  void Forward(const KernelArgs& args) override {
    BatchNormForward call = ForwardCall(args);
    if (layer_.global_statistics()) {
      call.with = NormalizeWith::kRunning;
    } else if (layer_.sums()) {
      call.with = NormalizeWith::kSums;
      call.sums = static_cast<const float*>(args.bottoms.back());
    } else {
      BatchStatistics(call, {args.scratch, arrived_.get()}, StreamOf(context_));
    }
    Normalize(call, StreamOf(context_));
  }

  bool CanRecompute() const override { return !layer_.add(); }
  void Recompute(const KernelArgs& args) override {
    Normalize(ForwardCall(args), StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    const auto& diffs = args.top_diffs[0];
    BatchNormBackward call;
    call.view = view_;
    call.type = context_.compute;
    call.channels = Channels(args, args.saved);
    char* const rows = static_cast<char*>(args.scratch) + sums_bytes_;
    call.channels.a = Row(rows, 0);
    call.channels.b = Row(rows, 1);
    call.channels.c = Row(rows, 2);
    call.global_statistics = layer_.global_statistics();
    if (layer_.relu()) {
      call.relu = has_mask_ ? ReluGradientFrom::kMask : ReluGradientFrom::kInput;
    }
    call.x = args.bottoms[0];
    call.mask = has_mask_ ? Mask(args) : nullptr;
    call.dy = diffs[0];
    call.dy2 = diffs.size() > 1 ? diffs[1] : nullptr;
    call.dz = layer_.add() ? args.bottom_diffs[1] : nullptr;
    if (call.dz == nullptr && (call.dy2 != nullptr || (layer_.add() && layer_.relu()))) {
      call.dz = diffs[0];
    }
    call.dx = args.bottom_diffs[0];
    if (layer_.scale()) call.dgamma = args.parameter_diffs[0];
    if (layer_.scale_bias()) call.dbeta = args.parameter_diffs[1];
    BatchNormGradient(call, {args.scratch, arrived_.get()}, StreamOf(context_));
  }

 private:
  static constexpr int kSavedRows = 4, kBackwardRows = 3;  // numbers per channel

  static size_t Aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
  float* Row(void* base, int row) const {
    return reinterpret_cast<float*>(static_cast<char*>(base) + row * channels_bytes_);
  }

  unsigned char* Mask(const KernelArgs& args) const {
    return static_cast<unsigned char*>(args.saved) + kSavedRows * channels_bytes_;
  }

  BatchNormChannels Channels(const KernelArgs& args, void* saved) const {
    BatchNormChannels ch;
    if (layer_.scale()) ch.gamma = args.master[0];
    if (layer_.scale_bias()) ch.beta = args.master[1];
    ch.running_mean = args.states[0];
    ch.running_variance = args.states[1];
    ch.mean = Row(saved, 0);
    ch.inverse_std = Row(saved, 1);
    ch.scale = Row(saved, 2);
    ch.offset = Row(saved, 3);
    return ch;
  }

  BatchNormForward ForwardCall(const KernelArgs& args) const {
    BatchNormForward call;
    call.view = view_;
    call.type = context_.compute;
    // Without a backward pass, they are stored after the sums.
    void* const saved = backward_ ? args.saved
                                  : static_cast<char*>(args.scratch) +
                                        Aligned(ColumnSumsBytes(view_, context_.compute, 2));
    call.channels = Channels(args, saved);
    call.eps = layer_.eps();
    call.fraction = layer_.fraction();
    call.relu = layer_.relu();
    call.x = args.bottoms[0];
    call.add = layer_.add() ? args.bottoms[1] : nullptr;
    call.y = args.tops[0];
    if (has_mask_) call.mask = Mask(args);
    return call;
  }

  const BatchNormLayer& layer_;
  const KernelContext context_;
  ColumnsView view_;
  std::shared_ptr<void> arrived_;  // of ColumnSumsMemory
  bool backward_ = false, has_mask_ = false;
  size_t channels_bytes_ = 0, sums_bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cuda/BatchNorm", KernelOf<BatchNormLayer, BatchNormKernel>);

}  // namespace
}  // namespace gf
