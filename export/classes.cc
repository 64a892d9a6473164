// Layers that turn many numbers into few, or into shares of their sum: Softmax, ArgMax, Reduction.

#include "core/config/net.pb.h"
#include "export/layer_writer.h"
#include "layers/arg_max.h"
#include "layers/reduction.h"

namespace gf {
namespace {

void ConvertSoftmax(LayerWriter* w) {
  const int axis = w->param().softmax_param().axis();
  w->SetTop(w->Node("Softmax", {w->Input()}, {IntAttribute("axis", axis)}));
}

// TopK and ArgMaxLayer rank alike: among equal numbers the lower index comes first.
std::vector<std::string> Ranked(const std::string& x, int axis, int64_t top_k, LayerWriter* w) {
  return w->Nodes("TopK", {x, w->Integers({top_k})}, 2, {IntAttribute("axis", axis)});
}

std::string AsFloat(const std::string& integers, LayerWriter* w) {
  return w->Node("Cast", {integers}, {IntAttribute("to", onnx::TensorProto::FLOAT)});
}

void ConvertArgMax(LayerWriter* w) {
  const Ranking& ranking = w->As<ArgMaxLayer>().ranking();
  const ArgMaxParameter& p = w->param().argmax_param();
  if (p.has_axis()) {
    const std::vector<std::string> found = Ranked(w->Input(), p.axis(), ranking.top_k, w);
    return w->SetTop(ranking.indices ? AsFloat(found[1], w) : found[0]);
  }
  // All numbers of a sample.
  const auto& [shape, follows_batch] = w->bottom();
  const Shape flat{shape[0], shape.count(1, shape.rank())}, best{shape[0], ranking.top_k};
  const std::string x = w->Reshape(w->Input(), shape, flat, follows_batch);
  const std::vector<std::string> found = Ranked(x, 1, ranking.top_k, w);
  std::vector<int64_t> dims = w->top().shape.dims();
  dims[1] = 1;
  const std::string indices = w->Reshape(AsFloat(found[1], w), best, Shape(dims), follows_batch);
  if (!ranking.numbers) return w->SetTop(indices);
  const std::string numbers = w->Reshape(found[0], best, Shape(dims), follows_batch);
  w->SetTop(w->Node("Concat", {indices, numbers}, {IntAttribute("axis", 1)}));
}

void ConvertReduction(LayerWriter* w) {
  const ReductionParameter& p = w->param().reduction_param();
  const int begin = w->As<ReductionLayer>().axis();
  std::vector<int64_t> axes;
  for (int axis = begin; axis < w->bottom().shape.rank(); ++axis) axes.push_back(axis);
  const OnnxAttributes drop = {IntAttribute("keepdims", 0)};
  const OnnxAttributes drop_axes = {IntsAttribute("axes", axes), drop[0]};
  const std::string x = w->Input();
  std::string y;
  switch (p.operation()) {
    case ReductionParameter::SUM:
      y = w->Node("ReduceSum", {x, w->Integers(axes)}, drop);  // its axes are an input in opset 13
      break;
    case ReductionParameter::ASUM:
      y = w->Node("ReduceL1", {x}, drop_axes);
      break;
    case ReductionParameter::SUMSQ:
      y = w->Node("ReduceSumSquare", {x}, drop_axes);
      break;
    case ReductionParameter::MEAN:
      y = w->Node("ReduceMean", {x}, drop_axes);
      break;
  }
  y = w->Line(y, p.coeff(), 0);
  // Of all axes one remains.
  if (begin == 0) y = w->Node("Reshape", {y, w->Integers({1})});
  w->SetTop(y);
}

GF_REGISTER(ConverterRegistry, "ArgMax", ConvertBy<&ConvertArgMax>);
GF_REGISTER(ConverterRegistry, "Reduction", ConvertBy<&ConvertReduction>);
GF_REGISTER(ConverterRegistry, "Softmax", ConvertBy<&ConvertSoftmax>);

}  // namespace
}  // namespace gf
