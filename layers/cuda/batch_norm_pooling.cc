#include "layers/batch_norm_pooling.h"

#include <algorithm>

#include "layers/cuda/batch_norm_calls.h"
#include "layers/cuda/batch_norm_pooling_kernels.h"
#include "layers/cuda/kernel_context.h"
#include "layers/cuda/pooling_images.h"

namespace gf {
namespace {

class BatchNormPoolingKernel : public RepeatingKernel {
 public:
  BatchNormPoolingKernel(const BatchNormPoolingLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {
    CheckOwnStatistics(layer, context);
  }

  void Setup(KernelSetup* setup) override {
    TensorDesc &bottom = setup->bottoms[0], &top = setup->tops[0];
    CheckImageSize(layer_, bottom.shape);
    bottom.layout = WantedLayout(bottom.shape);
    top.layout = WantedLayout(top.shape);
    images_ = PoolingImagesOf(bottom.shape, top.shape, layer_.window());
    view_ = ColumnsOf(bottom.shape);
    if (view_.rows > INT32_MAX)
      layer_.Fail("has ", view_.rows, " pixels, expected fewer than 2^31");
    backward_ = setup->backward;
    rows_ = ChannelRows(view_.columns);
    const ColumnsView blocks = BlocksOf(images_);
    sums_bytes_ = ChannelRows::Aligned(std::max(ColumnSumsBytes(view_, context_.compute, 2),
                                                ColumnSumsBytes(blocks, context_.compute, 2)));
    arrived_ = CudaOf(context_)->Allocate(std::max(ColumnCountersBytes(view_, context_.compute),
                                                   ColumnCountersBytes(blocks, context_.compute)));
    setup->forward_scratch_bytes = sums_bytes_;
    if (!backward_) {
      setup->forward_scratch_bytes += rows_.Bytes(ChannelRows::kForward);
      return;
    }
    setup->saved_bytes = rows_.Bytes(ChannelRows::kForward) + top.shape.count();
    setup->backward_scratch_bytes = sums_bytes_ + rows_.Bytes(ChannelRows::kBackward);
    setup->needs_bottom[0] = true;
    setup->gradient_over_bottom = true;
  }

  void Forward(const KernelArgs& args) override {
    BatchNormForward call = ForwardOf(layer_, view_, context_.compute, args);
    call.channels = rows_.Channels(
        layer_, args, backward_ ? args.saved : static_cast<char*>(args.scratch) + sums_bytes_);
    call.y = args.tops[0];
    TakeStatistics(layer_, args, {args.scratch, arrived_.get()}, StreamOf(context_), &call);
    NormalizeAndPool(call, images_, backward_ ? Taps(args) : nullptr, StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    BatchNormBackward call;
    call.view = view_;
    call.type = context_.compute;
    call.channels =
        rows_.Channels(layer_, args, args.saved, static_cast<char*>(args.scratch) + sums_bytes_);
    call.x = args.bottoms[0];
    call.dy = args.top_diffs[0][0];
    call.dx = args.bottom_diffs[0];
    if (layer_.scale()) call.dgamma = args.parameter_diffs[0];
    if (layer_.scale_bias()) call.dbeta = args.parameter_diffs[1];
    PooledBatchNormGradient(call, images_, Taps(args), {args.scratch, arrived_.get()},
                            StreamOf(context_));
  }

 private:
  uint8_t* Taps(const KernelArgs& args) const {
    return static_cast<uint8_t*>(args.saved) + rows_.Bytes(ChannelRows::kForward);
  }

  const BatchNormPoolingLayer& layer_;
  const KernelContext context_;
  PoolingImages images_;
  ColumnsView view_;
  std::shared_ptr<void> arrived_;  // of ColumnSumsMemory
  bool backward_ = false;
  size_t sums_bytes_ = 0;
  ChannelRows rows_;
};

GF_REGISTER(KernelRegistry, "cuda/_BatchNormPooling",
            KernelOf<BatchNormPoolingLayer, BatchNormPoolingKernel>);

}  // namespace
}  // namespace gf
