#include "layers/deconvolution.h"

#include <glog/logging.h>

#include "layers/cpu/channel_affine.h"
#include "layers/cpu/dnnl_convolution.h"
#include "layers/cpu/weighted.h"

namespace gf {
namespace {

// Convolution's primitives the other way round, see Note [Images and results]
// (layers/convolution.h). The gradient of images has no bias in oneDNN, so passes of their own add
// the bias and compute its gradient.
class DeconvolutionKernel : public WeightedKernel {
 public:
  DeconvolutionKernel(const DeconvolutionLayer& layer, const KernelContext& context)
      : WeightedKernel(layer, context, ConvolutionMath(context), {}),
        layer_(layer),
        bias_(context.compute) {}

  void Setup(KernelSetup* setup) override {
    WeightedKernel::Setup(setup);
    if (!layer_.bias()) return;
    ChannelView view;
    CHECK(GetChannelView(setup->tops[0], &view)) << setup->tops[0].layout.Name();
    bias_.SetView(view);
  }

  void Forward(const KernelArgs& args) override {
    WeightedKernel::Forward(args);
    if (!layer_.bias()) return;
    bias_.Forward(args.tops[0], /*gamma=*/nullptr, args.master[1], args.tops[0]);
  }

  void Backward(const KernelArgs& args) override {
    if (layer_.bias() && args.parameter_diffs[1] != nullptr) {
      const void* const dy = args.top_diffs[0][0];
      bias_.Backward(/*x=*/dy, dy, /*gamma=*/nullptr, /*dx=*/nullptr, /*dgamma=*/nullptr,
                     args.parameter_diffs[1]);
    }
    WeightedKernel::Backward(args);
  }

 protected:
  void Build(const KernelSetup& setup, const dnnl::primitive_attr& attr) override {
    constexpr auto kKind = dnnl::prop_kind::forward_training;
    const DnnlConvolution any(layer_, setup, math_);
    const DnnlConvolution::Fwd::primitive_desc hint = any.Forward(attr, kKind);
    DnnlConvolution::BwdD::primitive_desc images = any.BackwardData(attr, hint);
    if (layer_.bias() && !HasChannelView(setup.tops[0].shape, images.diff_src_desc())) {
      const auto plain = any.With(PlainDesc(setup.tops[0].shape, math_), any.results);
      images = plain.BackwardData(attr, hint);
    }
    SetBackwardData<DnnlConvolution::BwdD>(images);
    if (setup.backward) {
      const DnnlConvolution given =
          any.With(backward_data_.source.wanted, backward_data_.destination.wanted);
      SetBackwardWeights<DnnlConvolution::BwdW>(
          FastPass(given, any, [&](const auto& c) { return c.BackwardWeights(attr, hint); }));
      if (setup.propagate[0]) {
        SetForward<DnnlConvolution::Fwd>(
            FastPass(given, any, [&](const auto& c) { return c.Forward(attr, kKind); }));
      }
    }
    Transpose();
  }

 private:
  bool HasChannelView(const Shape& shape, const dnnl::memory::desc& desc) const {
    ChannelView view;
    return GetChannelView({shape, math_, FromDnnl(desc)}, &view);
  }

  const DeconvolutionLayer& layer_;
  ChannelAffine bias_;
};

GF_REGISTER(KernelRegistry, "cpu/Deconvolution", KernelOf<DeconvolutionLayer, DeconvolutionKernel>);

}  // namespace
}  // namespace gf
