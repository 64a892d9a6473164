#include "layers/convolution.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "layers/cuda/bias_kernels.h"
#include "layers/cuda/cudnn/cudnn_convolution.h"
#include "layers/cuda/kernel_context.h"
#include "layers/deconvolution.h"

namespace gf {
namespace {

// Of Convolution and Deconvolution, see Note [Images and results] (layers/convolution.h).
class ConvolutionKernel : public RepeatingKernel {
 public:
  ConvolutionKernel(const ConvolutionLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    setup->bottoms[0].layout = WantedLayout(setup->bottoms[0].shape);
    setup->tops[0].layout = WantedLayout(setup->tops[0].shape);
    const Layout filters = FilterLayout(setup->parameters[0].shape);
    CHECK(!setup->parameters_fixed || setup->parameters[0].layout == filters)
        << layer_.name() << ": " << setup->parameters[0].layout.Name();
    setup->parameters[0].layout = filters;
    const ConvolutionShape shape = ShapeOf(layer_, setup->bottoms[0].shape, setup->tops[0].shape);
    view_ = ColumnsOf(setup->tops[0].shape);
    const auto find = [&](ConvolutionPass pass) {
      ConvolutionRequest request = {pass, shape, context_.compute, {}, context_.deterministic};
      request.allow_tf32 = context_.allow_tf32 && context_.compute == DType::kFP32;
      if (pass == ConvolutionPass::kForward && !layer_.transposed()) {
        request.epilogue = {layer_.bias(), layer_.relu(), layer_.sums()};
      }
      return FindConvolution(request, CudaOf(context_));
    };
    ConvolutionPass forward = ConvolutionPass::kForward, data = ConvolutionPass::kBackwardData;
    if (layer_.transposed()) std::swap(forward, data);
    forward_ = find(forward);
    setup->forward_scratch_bytes = forward_->workspace_bytes();
    if (!setup->backward) return;
    arrived_ = CudaOf(context_)->Allocate(ColumnCountersBytes(view_, context_.compute));
    filter_ = find(ConvolutionPass::kBackwardFilter);
    setup->backward_scratch_bytes =
        std::max(filter_->workspace_bytes(), ColumnSumsBytes(view_, context_.compute, 1));
    if (setup->propagate[0]) {
      data_ = find(data);
      setup->backward_scratch_bytes =
          std::max(setup->backward_scratch_bytes, data_->workspace_bytes());
    }
    setup->needs_bottom[0] = true;
    setup->needs_top[0] = layer_.relu_backward();
  }

  void Forward(const KernelArgs& args) override {
    ConvolutionMemory memory = {const_cast<void*>(args.bottoms[0]),
                                const_cast<void*>(args.parameters[0]), args.tops[0]};
    void* const bias = layer_.bias() ? const_cast<void*>(args.parameters[1]) : nullptr;
    if (!layer_.transposed()) memory.bias = bias;
    if (layer_.sums()) memory.sums = static_cast<float*>(args.tops[1]);
    Run(*forward_, memory, args.scratch);
    // The gradient of images has no epilogue.
    if (layer_.transposed() && layer_.bias()) {
      AddBias(view_, context_.compute, args.tops[0], bias, /*relu=*/false, StreamOf(context_));
    }
  }

  // The gradients of the parameters come first: they can travel while the rest is computed.
  void Backward(const KernelArgs& args) override {
    void* const dy = args.top_diffs[0][0];
    if (layer_.bias() || layer_.relu_backward()) {
      BiasGradient(view_, context_.compute, dy, layer_.relu_backward() ? args.tops[0] : nullptr,
                   layer_.bias() ? args.parameter_diffs[1] : nullptr,
                   {args.scratch, arrived_.get()}, StreamOf(context_));
    }
    void* const images = const_cast<void*>(args.bottoms[0]);
    void* const filters = const_cast<void*>(args.parameters[0]);
    Run(*filter_, {images, args.parameter_diffs[0], dy}, args.scratch);
    if (args.bottom_diffs[0] == nullptr) return;
    Run(*data_, {args.bottom_diffs[0], filters, dy}, args.scratch);
  }

  bool CanOmitBottomDiff() const override { return true; }
  std::string Describe() const override {
    const auto describe = [](const auto& pass) { return pass ? pass->Describe() : ""; };
    return DescribePasses(describe(forward_), describe(filter_), describe(data_));
  }

 private:
  // memory.x: the bottom or its gradient, memory.y: the top or its gradient.
  void Run(const CudnnConvolution& pass, ConvolutionMemory memory, void* workspace) const {
    if (layer_.transposed()) std::swap(memory.x, memory.y);
    pass.Run(memory, workspace);
  }

  const ConvolutionLayer& layer_;
  const KernelContext context_;
  ColumnsView view_;
  std::shared_ptr<void> arrived_;  // of ColumnSumsMemory
  std::shared_ptr<CudnnConvolution> forward_, filter_, data_;
};

GF_REGISTER(KernelRegistry, "cuda/Convolution", KernelOf<ConvolutionLayer, ConvolutionKernel>);
GF_REGISTER(KernelRegistry, "cuda/Deconvolution", KernelOf<DeconvolutionLayer, ConvolutionKernel>);

}  // namespace
}  // namespace gf
