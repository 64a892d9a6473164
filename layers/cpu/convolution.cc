#include "layers/convolution.h"

#include <memory>

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
      try {
        return BuildWith(dnnl::algorithm::convolution_winograd, setup, attr);
      } catch (const dnnl::error&) {  // oneDNN supports it on some processors only
      }
    }
    BuildWith(dnnl::algorithm::convolution_direct, setup, attr);
  }

 private:
  void BuildWith(dnnl::algorithm algorithm, const KernelSetup& setup,
                 const dnnl::primitive_attr& attr) {
    DnnlConvolution any(layer_, setup, math_);
    any.algorithm = algorithm;
    any.bias = BiasDesc(setup);
    // For inference, Winograd would require weights in an order that no other pass reads or writes.
    const auto kind = algorithm == dnnl::algorithm::convolution_winograd
                          ? dnnl::prop_kind::forward_training
                          : ForwardKind(setup);
    SetForward<DnnlConvolution::Fwd>(any.Forward(attr, kind));
    if (!setup.backward) return;

    const DnnlConvolution given = any.With(forward_.source.wanted, forward_.destination.wanted);
    // Backward primitives do not support the fused ReLU.
    const DnnlConvolution::Fwd::primitive_desc hint = any.Forward(PlainAttr(), kind);
    SetBackwardWeights<DnnlConvolution::BwdW>(
        FastPass(given, any, [&](const auto& c) { return c.BackwardWeights(PlainAttr(), hint); }));
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
  bool WinogradPays(const KernelSetup& setup) const {
    constexpr int64_t kTile = 4, kBlock = 16, kLeastTiles = 32, kLeastTilesPerImage = 9;
    const Shape &bottom = setup.bottoms[0].shape, &top = setup.tops[0].shape;
    const Window& w = layer_.window();
    int64_t tiles = 1;  // per image
    for (int i = 0; i < 2; ++i) {
      if (w.kernel[i] != 3 || w.stride[i] != 1 || w.dilation[i] != 1) return false;
      tiles *= (top[2 + i] + kTile - 1) / kTile;
    }
    const bool enough_tiles =
        setup.backward ? top[0] * tiles >= kLeastTiles : tiles >= kLeastTilesPerImage;
    const bool tiles_filled = 2 * top[2] * top[3] >= tiles * kTile * kTile;
    return math_ == DType::kFP32 && layer_.groups() == 1 && bottom[1] > kBlock && top[1] > kBlock &&
           enough_tiles && tiles_filled;
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
