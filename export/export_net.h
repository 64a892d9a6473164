#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "export/inference_graph.h"
#include "export/onnx.pb.h"
#include "export/preprocessing.h"
#include "models/parameter_store.h"

namespace gf {

// The version of ONNX's operators that the models use, and the version of the format.
constexpr int64_t kOnnxOpset = 13, kOnnxIrVersion = 8;

struct ExportOptions {
  // Batch norms become a part of the convolutions and inner products before them where that is
  // exact (FoldableBatchNorms).
  bool fold_batch_norm = true;
  // Adds an output "prob": the softmax of the class scores, unless the net computes it itself.
  bool softmax = false;
  // The inputs are images of PixelTensorType, N x C x H x W, which nodes of the graph normalize
  // first.
  std::optional<PixelScaling> scaling;
  OnnxMetadata metadata;
  std::string producer_version;
};

struct ExportedNet {
  onnx::ModelProto model;
  // The name of each output in the model, and the blob that it holds: not "prob".
  std::vector<std::pair<std::string, std::string>> outputs;
};

// The net as an ONNX model. `store` has all parameters and states of `net`. Throws UserError that
// names the layer and its place for a type without converter (LayerWriter) and for settings that
// ONNX cannot say.
ExportedNet ExportNet(const InferenceGraph& net, const ParameterStore& store,
                      const ExportOptions& options);

// Throws UserError unless a model of this size fits into a file: protobuf's limit is 2 GiB.
void CheckOnnxSize(uint64_t bytes, const std::string& path);

// Writes the file, which appears when it is complete; returns its bytes. Throws UserError.
uint64_t WriteOnnx(const onnx::ModelProto& model, const std::string& path);

}  // namespace gf
