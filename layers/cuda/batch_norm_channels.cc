#include "layers/batch_norm.h"
#include "layers/cuda/batch_norm_calls.h"
#include "layers/cuda/batch_norm_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

class BatchNormChannelsKernel : public RepeatingKernel {
 public:
  BatchNormChannelsKernel(const BatchNormChannelsLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {
    CheckOwnStatistics(layer, context);
  }

  void Setup(KernelSetup* setup) override {
    const Shape& shape = setup->bottoms[0].shape;
    setup->bottoms[0].layout = WantedLayout(shape);
    view_ = ColumnsOf(shape);
    rows_ = ChannelRows::OfTensor(view_.columns);
    arrived_ = CudaOf(context_)->Allocate(ColumnCountersBytes(view_, context_.compute));
    if (!layer_.sums()) {
      setup->forward_scratch_bytes = ColumnSumsBytes(view_, context_.compute, 2);
    }
    if (setup->backward) setup->needs_top[0] = true;
  }

  void Forward(const KernelArgs& args) override {
    BatchNormForward call = ForwardOf(layer_, view_, context_.compute, args);
    call.channels = rows_.Channels(layer_, args, args.tops[0]);
    TakeStatistics(layer_, args, {args.scratch, arrived_.get()}, StreamOf(context_), &call);
    if (layer_.sums()) StatisticsFromSums(call, StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    void* const dgamma = layer_.scale() ? args.parameter_diffs[0] : nullptr;
    void* const dbeta = layer_.scale_bias() ? args.parameter_diffs[1] : nullptr;
    GradientsFromSums(context_.compute, view_.columns,
                      static_cast<const float*>(args.top_diffs[0][0]), rows_.Row(args.tops[0], 1),
                      dgamma, dbeta, StreamOf(context_));
  }

 private:
  const BatchNormChannelsLayer& layer_;
  const KernelContext context_;
  ColumnsView view_;
  ChannelRows rows_;
  std::shared_ptr<void> arrived_;  // of ColumnSumsMemory
};

GF_REGISTER(KernelRegistry, "cuda/_BatchNormChannels",
            KernelOf<BatchNormChannelsLayer, BatchNormChannelsKernel>);

}  // namespace
}  // namespace gf
