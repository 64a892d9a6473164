#include "export/onnx_graph.h"

#include <glog/logging.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/str_cat.h"
#include "models/graph.h"

namespace gf {
namespace {

onnx::AttributeProto NewAttribute(const std::string& name,
                                  onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

// Values as bytes in the order of x86-64, which is ONNX's.
template <typename T>
onnx::TensorProto NewTensor(int32_t type, const std::vector<int64_t>& dims,
                            const std::vector<T>& values) {
  CHECK_EQ(Shape(dims).count(), static_cast<int64_t>(values.size()));
  onnx::TensorProto tensor;
  for (const int64_t d : dims) tensor.add_dims(d);
  tensor.set_data_type(type);
  tensor.mutable_raw_data()->assign(reinterpret_cast<const char*>(values.data()),
                                    values.size() * sizeof(T));
  return tensor;
}

}  // namespace

onnx::AttributeProto IntAttribute(const std::string& name, int64_t value) {
  onnx::AttributeProto attribute = NewAttribute(name, onnx::AttributeProto::INT);
  attribute.set_i(value);
  return attribute;
}

onnx::AttributeProto IntsAttribute(const std::string& name, const std::vector<int64_t>& values) {
  onnx::AttributeProto attribute = NewAttribute(name, onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
  return attribute;
}

onnx::AttributeProto FloatAttribute(const std::string& name, float value) {
  onnx::AttributeProto attribute = NewAttribute(name, onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
  return attribute;
}

onnx::AttributeProto TextAttribute(const std::string& name, const std::string& value) {
  onnx::AttributeProto attribute = NewAttribute(name, onnx::AttributeProto::STRING);
  attribute.set_s(value);
  return attribute;
}

std::vector<float> ValuesOf(const ParameterStore& store, const std::string& name) {
  const std::pair<const PoolLayout*, const Tensor*> pools[] = {
      {&store.layout(), &store.master()},
      {&store.frozen_layout(), &store.frozen_master()},
      {&store.state_layout(), &store.states()}};
  for (const auto& [layout, pool] : pools) {
    const int entry = layout->Find(name);
    if (entry >= 0) return store.Export(*pool, layout->entries()[entry]);
  }
  throw std::logic_error(StrCat("no parameter ", name));
}

std::string UniqueNames::Take(const std::string& wanted) {
  if (taken_.emplace(wanted, 1).second) return wanted;
  for (;;) {
    const std::string name = StrCat(wanted, "_", ++taken_[wanted]);
    if (taken_.emplace(name, 1).second) return name;
  }
}

OnnxGraph::OnnxGraph(const InferenceGraph& net, const ParameterStore& store)
    : net_(net), store_(store) {
  proto_.set_name(net.name);
  const auto name = [&](const std::string& blob, const std::string& wanted) {
    if (names_.count(blob) == 0) names_[blob] = tensor_names_.Take(wanted);
  };
  for (const std::string& input : net.inputs) name(input, PlainBlobName(input));
  // Of several versions of a blob the last one gets the plain name.
  for (size_t i = net.outputs.size(); i-- > 0;) {
    name(net.outputs[i], PlainBlobName(net.outputs[i]));
  }
  for (const auto& blob : net.blobs) name(blob.first, blob.first);
}

bool OnnxGraph::IsOutput(const std::string& blob) const {
  return std::find(net_.outputs.begin(), net_.outputs.end(), blob) != net_.outputs.end();
}

void OnnxGraph::SetTensor(const std::string& blob, const std::string& tensor) {
  const std::string& name = NameOf(blob);
  const auto fresh = fresh_.find(tensor);
  if (fresh != fresh_.end()) {
    *fresh->second = name;
    fresh_.erase(fresh);
    tensors_[blob] = name;
  } else if (IsOutput(blob) && tensor != name) {
    const std::string copy = AddNode(name, "Identity", {tensor}, 1, {})[0];
    SetTensor(blob, copy);
  } else {
    tensors_[blob] = tensor;
  }
}

void OnnxGraph::SetImages(const std::string& blob, const std::string& tensor) {
  fresh_.erase(tensor);
  tensors_[blob] = tensor;
}

std::string OnnxGraph::Rename(const std::string& tensor, const std::string& wanted) {
  const auto fresh = fresh_.find(tensor);
  CHECK(fresh != fresh_.end()) << tensor;
  *fresh->second = tensor_names_.Take(wanted);
  const std::string name = *fresh->second;
  fresh_.erase(fresh);
  return name;
}

std::vector<std::string> OnnxGraph::AddNode(const std::string& scope, const std::string& op,
                                            const std::vector<std::string>& inputs, int outputs,
                                            const OnnxAttributes& attributes) {
  onnx::NodeProto* const node = proto_.add_node();
  node->set_name(node_names_.Take(StrCat(scope, "/", op)));
  node->set_op_type(op);
  for (const std::string& input : inputs) {
    node->add_input(input);
    fresh_.erase(input);
  }
  std::vector<std::string> results;
  for (int i = 0; i < outputs; ++i) {
    results.push_back(tensor_names_.Take(node->name()));
    node->add_output(results.back());
    fresh_[results.back()] = node->mutable_output(i);
  }
  for (const onnx::AttributeProto& attribute : attributes) *node->add_attribute() = attribute;
  return results;
}

std::string OnnxGraph::AddConstant(onnx::TensorProto constant) {
  std::string& name = constants_[constant.SerializeAsString()];
  if (name.empty()) {
    name = tensor_names_.Take("constant");
    constant.set_name(name);
    *proto_.add_initializer() = std::move(constant);
  }
  return name;
}

std::string OnnxGraph::Floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return AddConstant(NewTensor(onnx::TensorProto::FLOAT, dims, values));
}

std::string OnnxGraph::Integers(const std::vector<int64_t>& values) {
  return AddConstant(
      NewTensor(onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())}, values));
}

std::string OnnxGraph::Parameter(const std::string& name, const std::vector<int64_t>& dims) {
  std::string& tensor = parameters_[StrCat(name, " ", Shape(dims).ToString())];
  if (tensor.empty()) tensor = Initializer(name, dims, ValuesOf(store_, name));
  return tensor;
}

std::string OnnxGraph::Initializer(const std::string& wanted, const std::vector<int64_t>& dims,
                                   const std::vector<float>& values) {
  onnx::TensorProto tensor = NewTensor(onnx::TensorProto::FLOAT, dims, values);
  tensor.set_name(tensor_names_.Take(wanted));
  *proto_.add_initializer() = std::move(tensor);
  return proto_.initializer(proto_.initializer_size() - 1).name();
}

void OnnxGraph::SetType(int32_t type, const InferenceBlob& blob,
                        onnx::ValueInfoProto* value) const {
  onnx::TypeProto::Tensor* const tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  onnx::TensorShapeProto* const shape = tensor->mutable_shape();
  for (int i = 0; i < blob.shape.rank(); ++i) {
    onnx::TensorShapeProto::Dimension* const dim = shape->add_dim();
    if (i > 0 || !blob.follows_batch) {
      dim->set_dim_value(blob.shape[i]);
    } else {
      const int64_t times = blob.shape[0] / net_.batch;
      dim->set_dim_param(times == 1 ? "N" : StrCat(times, "N"));
    }
  }
}

void OnnxGraph::AddInput(const std::string& name, int32_t type, const InferenceBlob& blob) {
  onnx::ValueInfoProto* const input = proto_.add_input();
  input->set_name(name);
  SetType(type, blob, input);
}

void OnnxGraph::AddOutput(const std::string& name, const InferenceBlob& blob) {
  onnx::ValueInfoProto* const output = proto_.add_output();
  output->set_name(name);
  SetType(onnx::TensorProto::FLOAT, blob, output);
}

}  // namespace gf
