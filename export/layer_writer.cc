#include "export/layer_writer.h"

#include "core/str_cat.h"

namespace gf {

LayerWriter::LayerWriter(const InferenceLayer& layer, OnnxGraph* graph)
    : layer_(layer), graph_(graph), tops_(param().top().begin(), param().top().end()) {}

void LayerWriter::Fold(const ChannelAffine* affine, const std::string& top) {
  folded_ = affine;
  tops_[0] = top;
}

const InferenceBlob& LayerWriter::bottom(int i) const {
  return graph_->net().blobs.at(param().bottom(i));
}

const InferenceBlob& LayerWriter::top(int i) const { return graph_->net().blobs.at(tops_.at(i)); }

std::string LayerWriter::Input(int i) const { return graph_->TensorOf(param().bottom(i)); }

std::vector<std::string> LayerWriter::Inputs() const {
  std::vector<std::string> inputs;
  for (int i = 0; i < param().bottom_size(); ++i) inputs.push_back(Input(i));
  return inputs;
}

std::string LayerWriter::Node(const std::string& op, const std::vector<std::string>& inputs,
                              const OnnxAttributes& attributes) {
  return Nodes(op, inputs, 1, attributes)[0];
}

std::vector<std::string> LayerWriter::Nodes(const std::string& op,
                                            const std::vector<std::string>& inputs, int outputs,
                                            const OnnxAttributes& attributes) {
  return graph_->AddNode(layer().name(), op, inputs, outputs, attributes);
}

void LayerWriter::SetTop(const std::string& tensor, int i) {
  graph_->SetTensor(tops_.at(i), tensor);
}

std::string LayerWriter::Parameter(int i, int trailing) {
  std::vector<int64_t> dims = layer().parameters()[i].shape.dims();
  dims.resize(dims.size() + trailing, 1);
  return graph_->Parameter(layer_.parameters[i], dims);
}

std::vector<float> LayerWriter::ParameterValues(int i) const {
  return ValuesOf(graph_->store(), layer_.parameters[i]);
}

std::string LayerWriter::State(const std::string& name, const Shape& shape) {
  return graph_->Parameter(StrCat(layer().name(), ".", name), shape.dims());
}

std::string LayerWriter::NewParameter(const std::string& name, const Shape& shape,
                                      const std::vector<float>& values) {
  return graph_->Initializer(StrCat(layer().name(), ".", name), shape.dims(), values);
}

std::string LayerWriter::Line(const std::string& x, float a, float b) {
  std::string y = x;
  if (a != 1) y = Node("Mul", {y, Scalar(a)});
  if (b != 0) y = Node("Add", {y, Scalar(b)});
  return y;
}

std::string LayerWriter::Reshape(const std::string& x, const Shape& from, const Shape& to,
                                 bool follows_batch) {
  if (from == to) return x;
  if (to.rank() == 2 && from[0] == to[0]) return Node("Flatten", {x}, {IntAttribute("axis", 1)});
  std::vector<int64_t> dims = to.dims();
  // 0 keeps the extent of x, -1 is inferred.
  if (follows_batch) dims[0] = from[0] == to[0] ? 0 : -1;
  return Node("Reshape", {x, Integers(dims)});
}

}  // namespace gf
