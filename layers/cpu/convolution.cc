#include "layers/convolution.h"

#include <memory>
#include <string>

#include "layers/cpu/chosen_kernel.h"
#include "layers/cpu/depthwise_choice.h"
#include "layers/cpu/depthwise_convolution.h"
#include "layers/cpu/dnnl_convolution.h"
#include "layers/cpu/weighted.h"
#include "layers/cpu/winograd_choice.h"
#include "layers/cpu/winograd_convolution.h"

namespace gf {
namespace {

class DnnlConvolutionKernel : public WeightedKernel {
 public:
  DnnlConvolutionKernel(const ConvolutionLayer& layer, const KernelContext& context)
      : WeightedKernel(layer, context, ConvolutionMath(context),
                       {layer.bias(), layer.relu(), layer.relu_backward()}),
        layer_(layer) {}

 protected:
  void Build(const KernelSetup& setup, const dnnl::primitive_attr& attr) override {
    math_ = ConvolutionMath(context_);
    if (math_ == DType::kBF16 && NeedsFP32(setup)) math_ = DType::kFP32;
    DnnlConvolution any(layer_, setup, math_);
    any.bias = BiasDesc(setup);
    const dnnl::prop_kind kind = ForwardKind(setup);
    SetForward<Fwd>(any.Forward(attr, kind));
    if (!setup.backward) return;

    const DnnlConvolution given = any.With(forward_.source.wanted, forward_.destination.wanted);
    // Backward primitives do not support the fused ReLU.
    const Fwd::primitive_desc hint = any.Forward(PlainAttr(), kind);
    SetBackwardWeights<DnnlConvolution::BwdW>(FilterGradient(given, any, hint));
    if (!setup.propagate[0]) return;
    SetBackwardData<DnnlConvolution::BwdD>(
        FastPass(given, any, [&](const auto& c) { return c.BackwardData(PlainAttr(), hint); }));
  }

 private:
  using Fwd = DnnlConvolution::Fwd;

  // Whether oneDNN has a convolution for the gradient of the filters in FP32, but in BF16 only
  // copies of images and products of matrices: filters on 1 to 3 channels take 10 times as long
  // then. Layers that do not train make the same choice, and so compute the same bits.
  bool NeedsFP32(const KernelSetup& setup) const {
    const auto has_gradient = [&](DType math) {
      try {
        DnnlConvolution any(layer_, setup, math);
        if (layer_.bias()) any.bias = PlainDesc(setup.parameters[1].shape, math);
        const auto hint = any.Forward(PlainAttr(), dnnl::prop_kind::forward_training);
        const auto given = any.With(hint.src_desc(), hint.dst_desc());
        const std::string how = FilterGradient(given, any, hint).impl_info_str();
        return how.find("gemm:") == std::string::npos && how.rfind("ref", 0) != 0;
      } catch (const dnnl::error&) {
        return false;
      }
    };
    return !DnnlHas(dnnl::cpu_isa::avx512_core_amx) && !has_gradient(DType::kBF16) &&
           has_gradient(DType::kFP32);
  }

  // `given`: `any` in the layouts of the forward pass.
  static DnnlConvolution::BwdW::primitive_desc FilterGradient(const DnnlConvolution& given,
                                                              const DnnlConvolution& any,
                                                              const Fwd::primitive_desc& hint) {
    return FastPass(given, any,
                    [&](const auto& c) { return c.BackwardWeights(PlainAttr(), hint); });
  }

  const ConvolutionLayer& layer_;
};

class ConvolutionKernel : public ChosenKernel {
 public:
  ConvolutionKernel(const ConvolutionLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

 protected:
  std::unique_ptr<Kernel> Choose(const KernelSetup& setup) override {
    if (DepthwisePays(layer_, setup, context_)) return NewDepthwiseConvolution(layer_, context_);
    if (WinogradPays(layer_, setup, context_)) return NewWinogradConvolution(layer_, context_);
    return std::make_unique<DnnlConvolutionKernel>(layer_, context_);
  }

 private:
  const ConvolutionLayer& layer_;
  const KernelContext context_;
};

GF_REGISTER(KernelRegistry, "cpu/Convolution", KernelOf<ConvolutionLayer, ConvolutionKernel>);

}  // namespace
}  // namespace gf
