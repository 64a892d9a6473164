#include "export/export_net.h"

#include <glog/logging.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "core/output_file.h"
#include "core/readable.h"
#include "export/fold_batch_norm.h"
#include "export/layer_writer.h"

namespace gf {
namespace {

void CheckHasConverter(const Layer& layer) {
  const ConverterRegistry& registry = ConverterRegistry::Get();
  if (registry.Has(layer.type())) return;
  layer.Fail("layers of this type cannot be exported to ONNX; these can: ", registry.Names());
}

void AddInputs(const InferenceGraph& net, const ExportOptions& options, OnnxGraph* graph) {
  for (const std::string& blob : net.inputs) {
    const InferenceBlob& images = net.blobs.at(blob);
    const std::string& name = graph->NameOf(blob);
    const bool pixels = options.scaling.has_value();
    graph->AddInput(name, pixels ? PixelTensorType(*options.scaling) : onnx::TensorProto::FLOAT,
                    images);
    graph->SetImages(blob,
                     pixels ? Normalize(name, images.shape[1], *options.scaling, graph) : name);
  }
}

void AddLayers(const InferenceGraph& net, const ParameterStore& store, bool fold_batch_norm,
               OnnxGraph* graph) {
  for (const InferenceLayer& layer : net.layers) CheckHasConverter(*layer.layer);
  std::map<int, int> norms;  // by the layer that takes them in
  if (fold_batch_norm) norms = FoldableBatchNorms(net);
  std::set<int> folded;
  for (size_t i = 0; i < net.layers.size(); ++i) {
    const InferenceLayer& layer = net.layers[i];
    if (folded.count(static_cast<int>(i)) > 0) continue;
    LayerWriter writer(layer, graph);
    ChannelAffine affine;
    const auto found = norms.find(static_cast<int>(i));
    if (found != norms.end()) {
      const InferenceLayer& norm = net.layers[found->second];
      affine = AffineOf(norm, store);
      writer.Fold(&affine, norm.layer->param().top(0));
      folded.insert(found->second);
    }
    ConverterRegistry::Get().Create("converter", layer.layer->type())->Convert(&writer);
  }
}

// Whether an output of the net is the softmax of the scores.
bool HasProbabilities(const InferenceGraph& net) {
  const auto is_output = [&](const std::string& blob) {
    return std::find(net.outputs.begin(), net.outputs.end(), blob) != net.outputs.end();
  };
  return std::any_of(net.layers.begin(), net.layers.end(), [&](const InferenceLayer& layer) {
    const LayerParameter& p = layer.layer->param();
    return p.type() == "Softmax" && p.bottom(0) == net.scores && is_output(p.top(0));
  });
}

void AddProbabilities(const InferenceGraph& net, OnnxGraph* graph) {
  if (net.scores.empty()) {
    ThrowUserError("--softmax: the net ", net.name,
                   " has no Softmax and no loss of classes, so none of its blobs holds class "
                   "scores: leave it out");
  }
  if (HasProbabilities(net)) return;
  const std::string result = graph->AddNode("prob", "Softmax", {graph->TensorOf(net.scores)}, 1,
                                            {IntAttribute("axis", net.class_axis)})[0];
  graph->AddOutput(graph->Rename(result, "prob"), net.blobs.at(net.scores));
}

}  // namespace

ExportedNet ExportNet(const InferenceGraph& net, const ParameterStore& store,
                      const ExportOptions& options) {
  ExportedNet exported;
  onnx::ModelProto& model = exported.model;
  model.set_ir_version(kOnnxIrVersion);
  model.set_producer_name("gradientflow");
  model.set_producer_version(options.producer_version);
  onnx::OperatorSetIdProto* const opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(kOnnxOpset);
  OnnxGraph graph(net, store);
  AddInputs(net, options, &graph);
  AddLayers(net, store, options.fold_batch_norm, &graph);
  for (const std::string& blob : net.outputs) {
    exported.outputs.emplace_back(graph.TensorOf(blob), blob);
    graph.AddOutput(graph.TensorOf(blob), net.blobs.at(blob));
  }
  if (options.softmax) AddProbabilities(net, &graph);
  for (const auto& [key, value] : options.metadata) {
    onnx::StringStringEntryProto* const entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  *model.mutable_graph() = graph.Take();
  return exported;
}

void CheckOnnxSize(uint64_t bytes, const std::string& path) {
  if (bytes <= INT32_MAX) return;
  ThrowUserError(path, ": the model takes ", HumanBytes(static_cast<double>(bytes)),
                 ", but an ONNX file holds less than 2 GiB: export a net with fewer parameters");
}

uint64_t WriteOnnx(const onnx::ModelProto& model, const std::string& path) {
  CheckOnnxSize(model.ByteSizeLong(), path);
  std::string bytes;
  CHECK(model.SerializeToString(&bytes));
  ReplaceFile(path, bytes);
  return bytes.size();
}

}  // namespace gf
