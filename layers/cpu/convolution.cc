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
  void Build(const KernelPlan& plan, const dnnl::primitive_attr& attr) override {
    if (WinogradPays(plan)) {
      try {
        return BuildWith(dnnl::algorithm::convolution_winograd, plan, attr);
      } catch (const dnnl::error&) {  // oneDNN supports it on some processors only
      }
    }
    BuildWith(dnnl::algorithm::convolution_direct, plan, attr);
  }

 private:
  void BuildWith(dnnl::algorithm algorithm, const KernelPlan& plan,
                 const dnnl::primitive_attr& attr) {
    const Window& w = layer_.window();
    const memory::dims stride = {w.stride[0], w.stride[1]}, pad = {w.pad[0], w.pad[1]},
                       dilates = {w.dilation[0] - 1, w.dilation[1] - 1};
    // On the right, only as much padding as the last window covers.
    memory::dims pad_right(2);
    for (int i = 0; i < 2; ++i) {
      pad_right[i] = (plan.tops[0].shape[2 + i] - 1) * w.stride[i] + w.extent(i) -
                     plan.bottoms[0].shape[2 + i] - w.pad[i];
    }
    const DType type = math_;
    const memory::desc source = AnyDesc(plan.bottoms[0].shape, type),
                       destination = AnyDesc(plan.tops[0].shape, type),
                       weights = AnyDesc(WeightShape(plan.parameters[0].shape), type);
    const memory::desc bias = BiasDesc(plan);

    using Fwd = dnnl::convolution_forward;
    // For inference, Winograd would require weights in an order that no other pass reads or writes.
    const auto kind = algorithm == dnnl::algorithm::convolution_winograd
                          ? dnnl::prop_kind::forward_training
                          : ForwardKind(plan);
    const Fwd::desc forward(kind, algorithm, source, weights, bias, destination, stride, dilates,
                            pad, pad_right);
    SetForward<Fwd>(forward, attr);
    if (!plan.backward) return;

    // In the layouts of the forward pass if oneDNN is fast with them, otherwise in the layouts that
    // oneDNN prefers.
    const memory::desc forward_source = forward_.source.wanted,
                       forward_destination = forward_.destination.wanted;
    const Fwd::primitive_desc hint = Hint<Fwd>(forward);
    using BwdW = dnnl::convolution_backward_weights;
    const auto weights_pd = [&](const memory::desc& src, const memory::desc& dst) {
      return BwdW::primitive_desc(
          BwdW::desc(algorithm, src, weights, bias, dst, stride, dilates, pad, pad_right),
          PlainAttr(), DnnlEngine(), hint);
    };
    BwdW::primitive_desc wpd = weights_pd(forward_source, forward_destination);
    if (IsReference(wpd)) wpd = weights_pd(source, destination);
    SetBackwardWeights<BwdW>(wpd);
    if (!plan.propagate[0]) return;

    using BwdD = dnnl::convolution_backward_data;
    const auto data_pd = [&](const memory::desc& src, const memory::desc& dst) {
      return BwdD::primitive_desc(
          BwdD::desc(algorithm, src, weights, dst, stride, dilates, pad, pad_right), PlainAttr(),
          DnnlEngine(), hint);
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
  bool WinogradPays(const KernelPlan& plan) const {
    constexpr int64_t kLeastChannels = 64, kLeastExtent = 12;
    const Window& w = layer_.window();
    for (int i = 0; i < 2; ++i) {
      if (w.kernel[i] != 3 || w.stride[i] != 1 || w.dilation[i] != 1) return false;
      if (plan.tops[0].shape[2 + i] < kLeastExtent) return false;
    }
    return math_ == DType::kFP32 && layer_.groups() == 1 &&
           plan.bottoms[0].shape[1] >= kLeastChannels && plan.tops[0].shape[1] >= kLeastChannels;
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
