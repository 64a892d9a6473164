#include "layers/cpu/depthwise_choice.h"

#include <string>

#include "layers/cpu/dnnl_convolution.h"
#include "layers/depthwise.h"

namespace gf {
namespace {

// Whether oneDNN has depthwise kernels for all passes. Its names of them contain "dw":
// "jit_dw:avx512_core", "brdgmm_dw:avx2". Throws dnnl::error if a pass has no implementation at
// all.
bool HasDnnlKernels(const ConvolutionLayer& layer, const KernelSetup& setup, DType math) {
  const dnnl::primitive_attr attr;
  const auto depthwise = [](const auto& pass) {
    return std::string(pass.impl_info_str()).find("dw") != std::string::npos;
  };
  DnnlConvolution any(layer, setup, math);
  if (layer.bias()) any.bias = PlainDesc(setup.parameters[1].shape, math);
  const auto kind =
      setup.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const DnnlConvolution::Fwd::primitive_desc forward = any.Forward(attr, kind);
  if (!depthwise(forward)) return false;
  if (!setup.backward) return true;
  // As the kernel on oneDNN chooses them.
  const DnnlConvolution given = any.With(forward.src_desc(), forward.dst_desc());
  if (!depthwise(
          FastPass(given, any, [&](const auto& c) { return c.BackwardWeights(attr, forward); }))) {
    return false;
  }
  return !setup.propagate[0] || depthwise(FastPass(given, any, [&](const auto& c) {
    return c.BackwardData(attr, forward);
  }));
}

}  // namespace

bool DepthwisePays(const ConvolutionLayer& layer, const KernelSetup& setup,
                   const KernelContext& context) {
  if (!MayBeOwnDepthwise(layer.groups(), setup.bottoms[0].shape[1])) return false;
  if (setup.parameters_fixed && !setup.parameters[0].layout.plain()) return false;
  if (WayOfDepthwise() == DepthwiseWay::kOwn) return true;
  const DType math = ConvolutionMath(context);
  if (math != context.compute) return true;
  try {
    return !HasDnnlKernels(layer, setup, math);
  } catch (const dnnl::error&) {
    return true;
  }
}

}  // namespace gf
