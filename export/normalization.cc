// BatchNorm, LayerNorm, LRN, and the learned factors and terms of Scale, Bias and PReLU.

#include "core/config/net.pb.h"
#include "export/layer_writer.h"
#include "layers/batch_norm.h"
#include "layers/layer_norm.h"
#include "layers/lrn.h"
#include "layers/scale.h"

namespace gf {
namespace {

std::vector<int64_t> AxesFrom(int begin, int end) {
  std::vector<int64_t> axes;
  for (int axis = begin; axis < end; ++axis) axes.push_back(axis);
  return axes;
}

// (x - mean) / sqrt(variance + eps), where mean and variance are x's own along the axes.
std::string Normalized(const std::string& x, const std::vector<int64_t>& axes, float eps,
                       LayerWriter* w) {
  const OnnxAttributes along = {IntsAttribute("axes", axes)};
  const std::string centered = w->Node("Sub", {x, w->Node("ReduceMean", {x}, along)});
  const std::string squares = w->Node("Mul", {centered, centered});
  const std::string variance = w->Node("ReduceMean", {squares}, along);
  const std::string deviation = w->Node("Sqrt", {w->Line(variance, 1, eps)});
  return w->Node("Div", {centered, deviation});
}

// Phase TEST with use_global_stats: false.
void ConvertOwnStatistics(LayerWriter* w) {
  const auto& layer = w->As<BatchNormLayer>();
  const int rank = w->bottom().shape.rank();
  std::vector<int64_t> axes = AxesFrom(1, rank);
  axes[0] = 0;  // all but the channels
  std::string y = Normalized(w->Input(), axes, layer.eps(), w);
  if (layer.scale()) y = w->Node("Mul", {y, w->Parameter(0, rank - 2)});
  if (layer.scale_bias()) y = w->Node("Add", {y, w->Parameter(1, rank - 2)});
  w->SetTop(y);
}

void ConvertBatchNorm(LayerWriter* w) {
  const auto& layer = w->As<BatchNormLayer>();
  if (!layer.global_statistics()) return ConvertOwnStatistics(w);
  const Shape channels{w->bottom().shape[1]};
  const auto all = [&](float value) {
    return w->Floats(channels.dims(), std::vector<float>(channels.count(), value));
  };
  const std::string gamma = layer.scale() ? w->Parameter(0) : all(1);
  const std::string beta = layer.scale_bias() ? w->Parameter(1) : all(0);
  const std::string mean = w->State("running_mean", channels);
  const std::string variance = w->State("running_var", channels);
  w->SetTop(w->Node("BatchNormalization", {w->Input(), gamma, beta, mean, variance},
                    {FloatAttribute("epsilon", layer.eps())}));
}

void ConvertLayerNorm(LayerWriter* w) {
  const auto& layer = w->As<LayerNormLayer>();
  const LayerNormParameter& norm = w->param().layer_norm_param();
  const int rank = w->bottom().shape.rank();
  const int begin = norm.axis() < 0 ? norm.axis() + rank : norm.axis();
  const int end = norm.channels_only() ? begin + 1 : rank;
  std::string y = Normalized(w->Input(), AxesFrom(begin, end), layer.eps(), w);
  if (layer.affine()) {
    y = w->Node("Mul", {y, w->Parameter(0, rank - end)});
    y = w->Node("Add", {y, w->Parameter(1, rank - end)});
  }
  w->SetTop(y);
}

void ConvertLrn(LayerWriter* w) {
  const auto& layer = w->As<LrnLayer>();
  const std::string x = w->Input();
  if (!layer.within_channel()) {
    return w->SetTop(
        w->Node("LRN", {x},
                {IntAttribute("size", layer.size()), FloatAttribute("alpha", layer.alpha()),
                 FloatAttribute("beta", layer.beta()), FloatAttribute("bias", layer.k())}));
  }
  // The sum of squares over the window by its size is an average that counts the padding.
  const int64_t size = layer.size(), reach = size / 2;
  const std::string average = w->Node(
      "AveragePool", {w->Node("Mul", {x, x})},
      {IntsAttribute("kernel_shape", {size, size}), IntsAttribute("strides", {1, 1}),
       IntsAttribute("pads", {reach, reach, reach, reach}), IntAttribute("count_include_pad", 1)});
  const std::string scale = w->Line(average, layer.alpha(), 1);
  w->SetTop(w->Node("Mul", {x, w->Node("Pow", {scale, w->Scalar(-layer.beta())})}));
}

// Parameter i of a layer whose parameters have the axes [begin, end) of its bottom.
std::string PerAxis(int i, LayerWriter* w) {
  const auto& layer = w->As<ScaleLayer>();
  // Without axes it is one number.
  if (layer.begin() == layer.end()) return w->Parameter(i);
  return w->Parameter(i, w->bottom().shape.rank() - layer.end());
}

void ConvertScale(LayerWriter* w) {
  const auto& layer = w->As<ScaleLayer>();
  std::string y = w->Input();
  if (layer.gamma() >= 0) y = w->Node("Mul", {y, PerAxis(layer.gamma(), w)});
  if (layer.beta() >= 0) y = w->Node("Add", {y, PerAxis(layer.beta(), w)});
  w->SetTop(y);
}

void ConvertPRelu(LayerWriter* w) {
  w->SetTop(w->Node("PRelu", {w->Input(), PerAxis(w->As<ScaleLayer>().gamma(), w)}));
}

GF_REGISTER(ConverterRegistry, "BatchNorm", ConvertBy<&ConvertBatchNorm>);
GF_REGISTER(ConverterRegistry, "Bias", ConvertBy<&ConvertScale>);
GF_REGISTER(ConverterRegistry, "LayerNorm", ConvertBy<&ConvertLayerNorm>);
GF_REGISTER(ConverterRegistry, "LRN", ConvertBy<&ConvertLrn>);
GF_REGISTER(ConverterRegistry, "PReLU", ConvertBy<&ConvertPRelu>);
GF_REGISTER(ConverterRegistry, "Scale", ConvertBy<&ConvertScale>);

}  // namespace
}  // namespace gf
