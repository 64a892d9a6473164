#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/net.pb.h"
#include "core/registry.h"
#include "export/fold_batch_norm.h"
#include "export/inference_graph.h"
#include "export/onnx_graph.h"

namespace gf {

// The view of a converter: one layer, and the graph to which its nodes are added. Tensors are known
// by their names.
class LayerWriter {
 public:
  // All must outlive this object.
  LayerWriter(const InferenceLayer& layer, OnnxGraph* graph);

  // Writes into `top` in place of the layer's own top, with a factor and an offset per channel that
  // weights and bias must take in. For Convolution and InnerProduct.
  void Fold(const ChannelAffine* affine, const std::string& top);
  const ChannelAffine* folded() const { return folded_; }

  const Layer& layer() const { return *layer_.layer; }
  const LayerParameter& param() const { return layer_.layer->param(); }
  template <typename T>
  const T& As() const {
    return static_cast<const T&>(*layer_.layer);
  }

  // Shapes of the bottoms and tops, and the tensors of the bottoms. Not for bottoms of which the
  // layer reads the shape only.
  const InferenceBlob& bottom(int i = 0) const;
  const InferenceBlob& top(int i = 0) const;
  std::string Input(int i = 0) const;
  std::vector<std::string> Inputs() const;

  // Adds a node with one result; `Nodes` with several.
  std::string Node(const std::string& op, const std::vector<std::string>& inputs,
                   const OnnxAttributes& attributes = {});
  std::vector<std::string> Nodes(const std::string& op, const std::vector<std::string>& inputs,
                                 int outputs, const OnnxAttributes& attributes = {});
  // `tensor` is the result of the layer for top i.
  void SetTop(const std::string& tensor, int i = 0);

  // Constants.
  std::string Scalar(float value) { return graph_->Floats({}, {value}); }
  std::string Floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
    return graph_->Floats(dims, values);
  }
  std::string Integers(const std::vector<int64_t>& values) { return graph_->Integers(values); }

  // Parameter i as it is; with `trailing` further extents of 1; and its plain values.
  std::string Parameter(int i) { return Parameter(i, 0); }
  std::string Parameter(int i, int trailing);
  std::vector<float> ParameterValues(int i) const;
  // A state, "running_mean".
  std::string State(const std::string& name, const Shape& shape);
  // A constant that replaces the parameter of this name, "weight".
  std::string NewParameter(const std::string& name, const Shape& shape,
                           const std::vector<float>& values);

  // a * x + b, without a factor of 1 and a term of 0.
  std::string Line(const std::string& x, float a, float b);
  // x, which has the shape `from`, in the shape `to`. `follows_batch`: the first extents of both
  // are multiples of an open batch.
  std::string Reshape(const std::string& x, const Shape& from, const Shape& to, bool follows_batch);

 private:
  const InferenceLayer& layer_;
  OnnxGraph* const graph_;
  const ChannelAffine* folded_ = nullptr;
  std::vector<std::string> tops_;  // blobs
};

// Writes the nodes of layers of one type. A new type is a function and its line
//   GF_REGISTER(ConverterRegistry, "TYPE", ConvertBy<&ConvertType>);
class Converter {
 public:
  virtual ~Converter() = default;
  // Calls SetTop for every top. Throws UserError (Layer::Fail) for settings that ONNX cannot
  // express.
  virtual void Convert(LayerWriter* writer) const = 0;
};

using ConverterRegistry = Registry<Converter>;

template <void (*kConvert)(LayerWriter*)>
class ConvertBy : public Converter {
 public:
  void Convert(LayerWriter* writer) const override { kConvert(writer); }
};

}  // namespace gf
