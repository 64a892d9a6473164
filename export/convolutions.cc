// Convolution, Deconvolution and InnerProduct.

#include "export/layer_writer.h"
#include "layers/convolution.h"
#include "layers/inner_product.h"

namespace gf {
namespace {

// The tensors of weight and bias (if there is one), into which a batch norm may have been folded.
std::vector<std::string> WeightAndBias(LayerWriter* w) {
  const std::vector<ParameterSpec>& specs = w->layer().parameters();
  std::vector<std::string> tensors;
  const ChannelAffine* const affine = w->folded();
  if (affine == nullptr) {
    for (size_t i = 0; i < specs.size(); ++i) tensors.push_back(w->Parameter(static_cast<int>(i)));
    return tensors;
  }
  // Filters are the outermost axis.
  std::vector<float> weight = w->ParameterValues(0);
  const size_t channels = affine->factor.size(), filter = weight.size() / channels;
  std::vector<float> bias(channels, 0);
  if (specs.size() > 1) bias = w->ParameterValues(1);
  for (size_t c = 0; c < channels; ++c) {
    const double factor = affine->factor[c];
    for (size_t i = c * filter; i < (c + 1) * filter; ++i) {
      weight[i] = static_cast<float>(weight[i] * factor);
    }
    bias[c] = static_cast<float>(bias[c] * factor + affine->offset[c]);
  }
  const Shape of_bias{static_cast<int64_t>(channels)};
  return {w->NewParameter("weight", specs[0].shape, weight),
          w->NewParameter("bias", of_bias, bias)};
}

void ConvertConvolution(LayerWriter* w) {
  const auto& layer = w->As<ConvolutionLayer>();
  const auto& [kernel, stride, pad, dilation] = layer.window();
  const OnnxAttributes attributes = {IntsAttribute("kernel_shape", {kernel[0], kernel[1]}),
                                     IntsAttribute("strides", {stride[0], stride[1]}),
                                     IntsAttribute("pads", {pad[0], pad[1], pad[0], pad[1]}),
                                     IntsAttribute("dilations", {dilation[0], dilation[1]}),
                                     IntAttribute("group", layer.groups())};
  std::vector<std::string> inputs = {w->Input()};
  for (const std::string& tensor : WeightAndBias(w)) inputs.push_back(tensor);
  w->SetTop(w->Node(layer.transposed() ? "ConvTranspose" : "Conv", inputs, attributes));
}

void ConvertInnerProduct(LayerWriter* w) {
  const auto& layer = w->As<InnerProductLayer>();
  const InferenceBlob &bottom = w->bottom(), &top = w->top();
  const Shape rows{layer.rows(), layer.inputs()}, results{layer.rows(), layer.outputs()};
  std::vector<std::string> inputs = {
      w->Reshape(w->Input(), bottom.shape, rows, bottom.follows_batch)};
  for (const std::string& tensor : WeightAndBias(w)) inputs.push_back(tensor);
  const std::string product = w->Node("Gemm", inputs, {IntAttribute("transB", 1)});
  w->SetTop(w->Reshape(product, results, top.shape, top.follows_batch));
}

GF_REGISTER(ConverterRegistry, "Convolution", ConvertBy<&ConvertConvolution>);
GF_REGISTER(ConverterRegistry, "Deconvolution", ConvertBy<&ConvertConvolution>);
GF_REGISTER(ConverterRegistry, "InnerProduct", ConvertBy<&ConvertInnerProduct>);

}  // namespace
}  // namespace gf
