#include "layers/cpu/dnnl_convolution.h"

namespace gf {
namespace {

constexpr dnnl::algorithm kAlgorithm = dnnl::algorithm::convolution_direct;

// oneDNN represents groups as a separate axis.
Shape WithGroupAxis(const Shape& filters, int64_t groups) {
  if (groups == 1) return filters;
  return {groups, filters[0] / groups, filters[1], filters[2], filters[3]};
}

}  // namespace

DType ConvolutionMath(const KernelContext& context) {
  // Measurements may differ from run to run, so deterministic runs do not measure.
  const bool slow = context.compute == DType::kBF16 && !context.deterministic && !BF16IsFast();
  return slow ? DType::kFP32 : context.compute;
}

DnnlConvolution::DnnlConvolution(const ConvolutionLayer& layer, const KernelSetup& setup,
                                 DType math) {
  const Shape &bottom = setup.bottoms[0].shape, &top = setup.tops[0].shape;
  const Shape& images_shape = layer.transposed() ? top : bottom;
  const Shape& results_shape = layer.transposed() ? bottom : top;
  images = AnyDesc(images_shape, math);
  results = AnyDesc(results_shape, math);
  filters = AnyDesc(WithGroupAxis(setup.parameters[0].shape, layer.groups()), math);
  const Window& w = layer.window();
  for (int i = 0; i < 2; ++i) {
    stride.push_back(w.stride[i]);
    dilates.push_back(w.dilation[i] - 1);
    pad.push_back(w.pad[i]);
    // On the right, only as much padding as the last window covers.
    pad_right.push_back((results_shape[2 + i] - 1) * w.stride[i] + w.extent(i) -
                        images_shape[2 + i] - w.pad[i]);
  }
}

DnnlConvolution DnnlConvolution::With(const dnnl::memory::desc& own_images,
                                      const dnnl::memory::desc& own_results) const {
  DnnlConvolution other = *this;
  other.images = own_images;
  other.results = own_results;
  return other;
}

DnnlConvolution::Fwd::primitive_desc DnnlConvolution::Forward(const dnnl::primitive_attr& attr,
                                                              dnnl::prop_kind kind) const {
  return DnnlForward<Fwd>(attr, kind, kAlgorithm, images, filters, bias, results, stride, dilates,
                          pad, pad_right);
}

DnnlConvolution::BwdW::primitive_desc DnnlConvolution::BackwardWeights(
    const dnnl::primitive_attr& attr, const Fwd::primitive_desc& hint) const {
  return DnnlBackward<BwdW>(attr, hint, kAlgorithm, images, filters, bias, results, stride, dilates,
                            pad, pad_right);
}

DnnlConvolution::BwdD::primitive_desc DnnlConvolution::BackwardData(
    const dnnl::primitive_attr& attr, const Fwd::primitive_desc& hint) const {
  return DnnlBackward<BwdD>(attr, hint, kAlgorithm, images, filters, results, stride, dilates, pad,
                            pad_right);
}

}  // namespace gf
