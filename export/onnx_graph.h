#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "export/inference_graph.h"
#include "export/onnx.pb.h"
#include "models/parameter_store.h"

namespace gf {

using OnnxAttributes = std::vector<onnx::AttributeProto>;
onnx::AttributeProto IntAttribute(const std::string& name, int64_t value);
onnx::AttributeProto IntsAttribute(const std::string& name, const std::vector<int64_t>& values);
onnx::AttributeProto FloatAttribute(const std::string& name, float value);
onnx::AttributeProto TextAttribute(const std::string& name, const std::string& value);

// The plain values of a parameter or a state by its name in the pools, which must exist.
std::vector<float> ValuesOf(const ParameterStore& store, const std::string& name);

// Names of which no two are equal.
class UniqueNames {
 public:
  // `wanted`, or `wanted` with the lowest number from 2 on that makes it new.
  std::string Take(const std::string& wanted);

 private:
  std::map<std::string, int> taken_;  // and the number that was tried last
};

// An ONNX graph while it is written. Tensors are known by their names.
class OnnxGraph {
 public:
  // `store` has the parameters of `net`; both must outlive this object. An input or an output of
  // the net is called like its blob in the file; other versions of an in-place blob get a number.
  OnnxGraph(const InferenceGraph& net, const ParameterStore& store);

  const InferenceGraph& net() const { return net_; }
  const ParameterStore& store() const { return store_; }
  const onnx::GraphProto& proto() const { return proto_; }

  // The name that is reserved for the tensor of a blob.
  const std::string& NameOf(const std::string& blob) const { return names_.at(blob); }
  // The tensor that holds a blob, after SetTensor.
  const std::string& TensorOf(const std::string& blob) const { return tensors_.at(blob); }
  // `tensor` holds the blob. If no node has read it yet, it takes the name of the blob; otherwise
  // the blob becomes another name of it or, for an output of the net, a copy.
  void SetTensor(const std::string& blob, const std::string& tensor);
  // `tensor`, which keeps its name, holds a blob of images.
  void SetImages(const std::string& blob, const std::string& tensor);

  // Adds a node with `outputs` results, called `scope`/`op`, and returns the results. An empty
  // input is left out.
  std::vector<std::string> AddNode(const std::string& scope, const std::string& op,
                                   const std::vector<std::string>& inputs, int outputs,
                                   const OnnxAttributes& attributes);

  // Constants. Equal ones are one tensor.
  std::string Floats(const std::vector<int64_t>& dims, const std::vector<float>& values);
  std::string Integers(const std::vector<int64_t>& values);
  // A parameter or state with these extents, which may add extents of 1 to its own. Layers that
  // share a parameter share the tensor.
  std::string Parameter(const std::string& name, const std::vector<int64_t>& dims);
  // A new constant, called `wanted` if that is free.
  std::string Initializer(const std::string& wanted, const std::vector<int64_t>& dims,
                          const std::vector<float>& values);

  // Declares an input or an output of the graph. `type`: of onnx::TensorProto::DataType.
  void AddInput(const std::string& name, int32_t type, const InferenceBlob& blob);
  void AddOutput(const std::string& name, const InferenceBlob& blob);
  // Gives a tensor that no node has read yet a new name, `wanted` if that is free; returns it.
  std::string Rename(const std::string& tensor, const std::string& wanted);

  // Moves the graph out; the last call.
  onnx::GraphProto Take() { return std::move(proto_); }

 private:
  bool IsOutput(const std::string& blob) const;
  std::string AddConstant(onnx::TensorProto constant);
  void SetType(int32_t type, const InferenceBlob& blob, onnx::ValueInfoProto* value) const;

  const InferenceGraph& net_;
  const ParameterStore& store_;
  onnx::GraphProto proto_;
  UniqueNames tensor_names_, node_names_;
  std::map<std::string, std::string> names_, tensors_;  // by blob
  std::map<std::string, std::string*> fresh_;           // results that no node has read
  std::map<std::string, std::string> constants_;        // by content
  std::map<std::string, std::string> parameters_;       // by name and extents
};

}  // namespace gf
