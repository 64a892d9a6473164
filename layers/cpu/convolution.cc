#include "layers/convolution.h"

#include <algorithm>
#include <memory>
#include <string>

#include "layers/cpu/chosen_kernel.h"
#include "layers/cpu/depthwise_choice.h"
#include "layers/cpu/depthwise_convolution.h"
#include "layers/cpu/dnnl_convolution.h"
#include "layers/cpu/weighted.h"

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
    if (WinogradPays(setup)) {
      math_ = DType::kFP32;
      try {
        return BuildWith(dnnl::algorithm::convolution_winograd, setup, attr);
      } catch (const dnnl::error&) {  // oneDNN supports it on some processors only
      }
    }
    math_ = ConvolutionMath(context_);
    if (math_ == DType::kBF16 && NeedsFP32(setup)) math_ = DType::kFP32;
    BuildWith(dnnl::algorithm::convolution_direct, setup, attr);
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

  void BuildWith(dnnl::algorithm algorithm, const KernelSetup& setup,
                 const dnnl::primitive_attr& attr) {
    DnnlConvolution any(layer_, setup, math_);
    any.algorithm = algorithm;
    any.bias = BiasDesc(setup);
    // For inference, Winograd would require weights in an order that no other pass reads or writes.
    const auto kind = algorithm == dnnl::algorithm::convolution_winograd
                          ? dnnl::prop_kind::forward_training
                          : ForwardKind(setup);
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

  // Note [Winograd]
  // For 3x3 filters with stride 1, Winograd's algorithm F(4x4, 3x3) (Lavin and Gray, 2015) needs a
  // quarter of the multiplications but must transform data and filters. It is up to twice as fast.
  // It is slower with few channels, with few tiles of 4x4 results, because transforming the filters
  // then dominates, and if tiles reach far over the edge. Its rounding errors are about ten times
  // as large as with direct sums, and far smaller than with BF16.
  //
  // Without a backward pass (evaluation, frozen layers) the choice ignores the number of images, so
  // that all batches give the same bits.
  //
  // oneDNN has Winograd's algorithm for FP32 only. BF16 tensors are converted before and after.
  // Without AMX, where BF16 is at most twice as fast as FP32, the algorithm still beats direct
  // convolutions in BF16 with many channels and full tiles: training with 256 channels takes 0.7
  // to 0.9 times as long.
  bool WinogradPays(const KernelSetup& setup) const {
    constexpr int64_t kTile = 4, kBlock = 16;
    const Shape &bottom = setup.bottoms[0].shape, &top = setup.tops[0].shape;
    const Window& w = layer_.window();
    int64_t tiles = 1;  // per image
    for (int i = 0; i < 2; ++i) {
      if (w.kernel[i] != 3 || w.stride[i] != 1 || w.dilation[i] != 1) return false;
      tiles *= (top[2 + i] + kTile - 1) / kTile;
    }
    if (layer_.groups() != 1) return false;
    const int64_t least_channels = std::min(bottom[1], top[1]),
                  most_channels = std::max(bottom[1], top[1]);
    const double filled = static_cast<double>(top[2] * top[3]) / (tiles * kTile * kTile);
    if (ConvolutionMath(context_) == DType::kBF16) {
      return setup.backward && !DnnlHas(dnnl::cpu_isa::avx512_core_amx) && least_channels >= 64 &&
             most_channels >= 256 && top[0] * tiles >= 1024 && filled >= 0.75;
    }
    const bool enough_tiles = setup.backward ? top[0] * tiles >= 32 : tiles >= 9;
    return least_channels > kBlock && enough_tiles && filled >= 0.5;
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
    return std::make_unique<DnnlConvolutionKernel>(layer_, context_);
  }

 private:
  const ConvolutionLayer& layer_;
  const KernelContext context_;
};

GF_REGISTER(KernelRegistry, "cpu/Convolution", KernelOf<ConvolutionLayer, ConvolutionKernel>);

}  // namespace
}  // namespace gf
