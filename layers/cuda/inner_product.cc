#include "layers/inner_product.h"

#include <glog/logging.h>

#include <algorithm>

#include "core/cuda/matmul.h"
#include "layers/cuda/bias_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

// Note [Order of inputs]
// A channels-last bottom keeps its layout. The pools hold the columns of the weights in the same
// order, like filters of the size of the image.
class InnerProductKernel : public RepeatingKernel {
 public:
  InnerProductKernel(const InnerProductLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    ChooseLayouts(setup);
    view_ = {layer_.rows(), static_cast<int>(layer_.outputs())};
    MatmulShape forward{layer_.rows(), layer_.outputs(), layer_.inputs(), false, true};
    forward.bias = layer_.bias();
    forward.relu = layer_.relu();
    forward_ = Matmul::Find(forward, context_.compute, context_.allow_tf32);
    fused_ = forward_ != nullptr;
    if (!fused_) {
      forward.bias = forward.relu = false;
      forward_ = Find(forward);
    }
    setup->forward_scratch_bytes = forward_->workspace_bytes();
    if (!setup->backward) return;
    arrived_ = CudaOf(context_)->Allocate(ColumnCountersBytes(view_, context_.compute));
    weights_ = Find({layer_.outputs(), layer_.inputs(), layer_.rows(), true, false});
    setup->backward_scratch_bytes =
        std::max(weights_->workspace_bytes(), ColumnSumsBytes(view_, context_.compute, 1));
    if (setup->propagate[0]) {
      data_ = Find({layer_.rows(), layer_.inputs(), layer_.outputs(), false, false});
      setup->backward_scratch_bytes =
          std::max(setup->backward_scratch_bytes, data_->workspace_bytes());
    }
    setup->needs_bottom[0] = true;
    setup->needs_top[0] = layer_.relu();
  }

  void Forward(const KernelArgs& args) override {
    const cudaStream_t stream = StreamOf(context_);
    const void* const bias = layer_.bias() ? args.parameters[1] : nullptr;
    forward_->Run(args.bottoms[0], args.parameters[0], bias, args.tops[0], args.scratch, stream);
    if (fused_ || (!layer_.bias() && !layer_.relu())) return;
    AddBias(view_, context_.compute, args.tops[0], bias, layer_.relu(), stream);
  }

  // The gradients of the parameters come first: they can travel while the rest is computed.
  void Backward(const KernelArgs& args) override {
    const cudaStream_t stream = StreamOf(context_);
    void* const dy = args.top_diffs[0][0];
    if (layer_.bias() || layer_.relu()) {
      BiasGradient(view_, context_.compute, dy, layer_.relu() ? args.tops[0] : nullptr,
                   layer_.bias() ? args.parameter_diffs[1] : nullptr,
                   {args.scratch, arrived_.get()}, stream);
    }
    weights_->Run(dy, args.bottoms[0], nullptr, args.parameter_diffs[0], args.scratch, stream);
    if (args.bottom_diffs[0] == nullptr) return;
    data_->Run(dy, args.parameters[0], nullptr, args.bottom_diffs[0], args.scratch, stream);
  }

  bool CanOmitBottomDiff() const override { return true; }
  std::string Describe() const override {
    const auto describe = [](const auto& pass) { return pass ? pass->Describe() : ""; };
    return DescribePasses(describe(forward_), describe(weights_), describe(data_));
  }

 private:
  void ChooseLayouts(KernelSetup* setup) const {
    TensorDesc& bottom = setup->bottoms[0];
    TensorDesc& weights = setup->parameters[0];
    const ChannelsLast* image = AsChannelsLast(bottom.layout);
    Layout wanted;
    if (image != nullptr && image->outer() == layer_.rows()) {
      wanted = FilterLayout(layer_.outputs(), image->channels(), image->spatial());
    }
    if (!setup->parameters_fixed) weights.layout = wanted;
    if (wanted.plain() || weights.layout != wanted) {
      CHECK(weights.layout.plain()) << layer_.name() << ": " << weights.layout.Name();
      bottom.layout = Layout();
    }
  }

  std::unique_ptr<Matmul> Find(const MatmulShape& shape) const {
    std::unique_ptr<Matmul> product = Matmul::Find(shape, context_.compute, context_.allow_tf32);
    if (product == nullptr) {
      layer_.Fail("cuBLAS cannot multiply ", shape.m, "x", shape.k, " by ", shape.k, "x", shape.n,
                  " in ", Name(context_.compute), " on this GPU; try another compute_type");
    }
    return product;
  }

  const InnerProductLayer& layer_;
  const KernelContext context_;
  ColumnsView view_;
  std::shared_ptr<void> arrived_;  // of ColumnSumsMemory
  bool fused_ = false;             // whether forward_ includes bias and ReLU
  std::unique_ptr<Matmul> forward_, weights_, data_;
};

GF_REGISTER(KernelRegistry, "cuda/InnerProduct", KernelOf<InnerProductLayer, InnerProductKernel>);

}  // namespace
}  // namespace gf
