#include "layers/batch_norm.h"

#include <algorithm>

#include "layers/cuda/batch_norm_calls.h"
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
    CheckOwnStatistics(layer, context);
  }

  void Setup(KernelSetup* setup) override {
    const Shape& shape = setup->bottoms[0].shape;
    for (int i = 0; i < 1 + layer_.add(); ++i) setup->bottoms[i].layout = WantedLayout(shape);
    setup->tops[0].layout = WantedLayout(shape);
    view_ = ColumnsOf(shape);
    arrived_ = CudaOf(context_)->Allocate(ColumnCountersBytes(view_, context_.compute));
    backward_ = setup->backward;
    const bool pair = layer_.normalized_add();
    sums_bytes_ = ChannelRows::Aligned(ColumnSumsBytes(view_, context_.compute, pair ? 3 : 2));
    rows_ = ChannelRows(view_.columns);
    if (!backward_) {
      setup->in_place = true;
      setup->forward_scratch_bytes = sums_bytes_ + rows_.Bytes(ChannelRows::kForward);
      return;
    }
    setup->forward_scratch_bytes = sums_bytes_;
    has_mask_ = layer_.relu() && layer_.add();
    setup->saved_bytes = rows_.Bytes(ChannelRows::kForward) +
                         (has_mask_ ? BatchNormMaskBytes(view_, context_.compute) : 0);
    setup->backward_scratch_bytes =
        sums_bytes_ + (pair ? 2 : 1) * rows_.Bytes(ChannelRows::kBackward);
    setup->needs_bottom[0] = true;
    setup->in_place_backward = true;
    if (pair) setup->needs_bottom[1] = setup->needs_bottom[2] = true;
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
    } else {
      TakeStatistics(layer_, args, {args.scratch, arrived_.get()}, StreamOf(context_), &call);
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
    char* const rows = static_cast<char*>(args.scratch) + sums_bytes_;
    call.channels = rows_.Channels(layer_, args, args.saved, rows);
    call.global_statistics = layer_.global_statistics();
    if (layer_.relu()) {
      call.relu = has_mask_ ? ReluGradientFrom::kMask : ReluGradientFrom::kInput;
    }
    call.x = args.bottoms[0];
    call.mask = has_mask_ ? Mask(args) : nullptr;
    call.dy = diffs[0];
    call.dy2 = diffs.size() > 1 ? diffs[1] : nullptr;
    const bool pair = layer_.normalized_add();
    call.dz = layer_.add() && !pair ? args.bottom_diffs[1] : nullptr;
    if (call.dz == nullptr && (call.dy2 != nullptr || (layer_.add() && layer_.relu()))) {
      call.dz = diffs[0];
    }
    call.dx = args.bottom_diffs[0];
    if (layer_.scale()) call.dgamma = args.parameter_diffs[0];
    if (layer_.scale_bias()) call.dbeta = args.parameter_diffs[1];
    if (pair) {
      BatchNormAddend addend;
      addend.x = args.bottoms[1];
      addend.mean = AddendRow(args, 0);
      addend.inverse_std = AddendRow(args, 1);
      addend.scale = AddendRow(args, 2);
      addend.dx = args.bottom_diffs[1];
      addend.sums = static_cast<float*>(args.bottom_diffs[2]);
      addend.a = rows_.Row(rows, 3);
      addend.b = rows_.Row(rows, 4);
      addend.c = rows_.Row(rows, 5);
      BatchNormPairGradient(call, addend, {args.scratch, arrived_.get()}, StreamOf(context_));
    } else {
      BatchNormGradient(call, {args.scratch, arrived_.get()}, StreamOf(context_));
    }
  }

 private:
  // Of the top of BatchNormChannels.
  const float* AddendRow(const KernelArgs& args, int row) const {
    return static_cast<const float*>(args.bottoms[2]) + row * view_.columns;
  }

  unsigned char* Mask(const KernelArgs& args) const {
    return static_cast<unsigned char*>(args.saved) + rows_.Bytes(ChannelRows::kForward);
  }

  BatchNormForward ForwardCall(const KernelArgs& args) const {
    BatchNormForward call = ForwardOf(layer_, view_, context_.compute, args);
    // Without a backward pass, they are stored after the sums.
    void* const saved = backward_ ? args.saved : static_cast<char*>(args.scratch) + sums_bytes_;
    call.channels = rows_.Channels(layer_, args, saved);
    call.add = layer_.add() ? args.bottoms[1] : nullptr;
    if (layer_.normalized_add()) {
      call.add_scale = AddendRow(args, 2);
      call.add_offset = AddendRow(args, 3);
    }
    call.y = args.tops[0];
    if (has_mask_) call.mask = Mask(args);
    return call;
  }

  const BatchNormLayer& layer_;
  const KernelContext context_;
  ColumnsView view_;
  std::shared_ptr<void> arrived_;  // of ColumnSumsMemory
  bool backward_ = false, has_mask_ = false;
  size_t sums_bytes_ = 0;
  ChannelRows rows_;
};

GF_REGISTER(KernelRegistry, "cuda/BatchNorm", KernelOf<BatchNormLayer, BatchNormKernel>);
GF_REGISTER(KernelRegistry, "cuda/_BatchNormPair", KernelOf<BatchNormLayer, BatchNormKernel>);

}  // namespace
}  // namespace gf
