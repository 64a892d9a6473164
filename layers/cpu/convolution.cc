#include "layers/convolution.h"

#include "layers/cpu/weighted.h"

namespace gf {
namespace {

using dnnl::memory;

class ConvolutionKernel : public WeightedKernel {
 public:
  ConvolutionKernel(const ConvolutionLayer& layer, const KernelContext& context)
      : WeightedKernel(layer, context, Math(context), layer.relu(), layer.relu_backward()),
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
    const Window& w = layer_.window();
    const memory::dims stride = {w.stride[0], w.stride[1]}, pad = {w.pad[0], w.pad[1]},
                       dilates = {w.dilation[0] - 1, w.dilation[1] - 1};
    // On the right, only as much padding as the last window covers.
    memory::dims pad_right(2);
    for (int i = 0; i < 2; ++i) {
      pad_right[i] = (setup.tops[0].shape[2 + i] - 1) * w.stride[i] + w.extent(i) -
                     setup.bottoms[0].shape[2 + i] - w.pad[i];
    }
    const DType type = math_;
    const memory::desc source = AnyDesc(setup.bottoms[0].shape, type),
                       destination = AnyDesc(setup.tops[0].shape, type),
                       weights = AnyDesc(WeightShape(setup.parameters[0].shape), type);
    const memory::desc bias = BiasDesc(setup);

    using Fwd = dnnl::convolution_forward;
    // For inference, Winograd would require weights in an order that no other pass reads or writes.
    const auto kind = algorithm == dnnl::algorithm::convolution_winograd
                          ? dnnl::prop_kind::forward_training
                          : ForwardKind(setup);
    const auto forward_pd = [&](const dnnl::primitive_attr& attributes) {
      return DnnlForward<Fwd>(attributes, kind, algorithm, source, weights, bias, destination,
                              stride, dilates, pad, pad_right);
    };
    SetForward<Fwd>(forward_pd(attr));
    if (!setup.backward) return;

    // In the layouts of the forward pass if oneDNN is fast with them, otherwise in the layouts that
    // oneDNN prefers.
    const memory::desc forward_source = forward_.source.wanted,
                       forward_destination = forward_.destination.wanted;
    // Backward primitives do not support the fused ReLU.
    const Fwd::primitive_desc hint = forward_pd(PlainAttr());
    using BwdW = dnnl::convolution_backward_weights;
    const auto weights_pd = [&](const memory::desc& src, const memory::desc& dst) {
      return DnnlBackward<BwdW>(PlainAttr(), hint, algorithm, src, weights, bias, dst, stride,
                                dilates, pad, pad_right);
    };
    BwdW::primitive_desc wpd = weights_pd(forward_source, forward_destination);
    if (IsReference(wpd)) wpd = weights_pd(source, destination);
    SetBackwardWeights<BwdW>(wpd);
    if (!setup.propagate[0]) return;

    using BwdD = dnnl::convolution_backward_data;
    const auto data_pd = [&](const memory::desc& src, const memory::desc& dst) {
      return DnnlBackward<BwdD>(PlainAttr(), hint, algorithm, src, weights, dst, stride, dilates,
                                pad, pad_right);
    };
    BwdD::primitive_desc dpd = data_pd(forward_source, forward_destination);
    if (IsReference(dpd)) dpd = data_pd(source, destination);
    SetBackwardData<BwdD>(dpd);
  }

  static DType Math(const KernelContext& context) {
    // Measurements may differ from run to run, so deterministic runs do not measure.
    const bool slow = context.compute == DType::kBF16 && !context.deterministic && !BF16IsFast();
    return slow ? DType::kFP32 : context.compute;
  }

  // Note [Winograd]
  // For 3x3 filters with stride 1, Winograd's algorithm F(4x4, 3x3) (Lavin and Gray, 2015) needs a
  // quarter of the multiplications but must transform data and weights. It is twice as fast with
  // many channels and large images, and slower with few channels or small images. Its rounding
  // errors are about ten times as large as with direct sums, and far smaller than with BF16.
  bool WinogradPays(const KernelSetup& setup) const {
    constexpr int64_t kLeastChannels = 64, kLeastExtent = 12;
    const Window& w = layer_.window();
    for (int i = 0; i < 2; ++i) {
      if (w.kernel[i] != 3 || w.stride[i] != 1 || w.dilation[i] != 1) return false;
      if (setup.tops[0].shape[2 + i] < kLeastExtent) return false;
    }
    return math_ == DType::kFP32 && layer_.groups() == 1 &&
           setup.bottoms[0].shape[1] >= kLeastChannels && setup.tops[0].shape[1] >= kLeastChannels;
  }

  // oneDNN represents groups as a separate axis.
  Shape WeightShape(const Shape& s) const {
    const int64_t g = layer_.groups();
    return g == 1 ? s : Shape{g, s[0] / g, s[1], s[2], s[3]};
  }

  const ConvolutionLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cpu/Convolution", KernelOf<ConvolutionLayer, ConvolutionKernel>);

}  // namespace
}  // namespace gf
