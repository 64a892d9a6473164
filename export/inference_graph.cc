#include "export/inference_graph.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/error.h"
#include "layers/input.h"
#include "layers/loss.h"
#include "models/class_losses.h"
#include "models/shaped_net.h"

namespace gf {
namespace {

// Shapes of a net with an open batch come from these two: what differs follows the batch.
constexpr int64_t kBatch = 2, kOtherBatch = 3;
constexpr char kRemedy[] = "set --batch=N to export the net for a fixed batch";

ShapedNet ShapeForOpenBatch(const NetSource& source, int64_t batch, const Shape& image_shape,
                            const LabelConfig* labels) {
  try {
    return ShapeNet(source, TEST, batch, image_shape, labels);
  } catch (const UserError& error) {
    ShapeNet(source, TEST, 0, image_shape, labels);  // throws if the net is wrong for any batch
    ThrowUserError(error.what(), "; this happens with a batch of ", batch,
                   ", not with the batch of the file: ", kRemedy);
  }
}

const LayerParameter& ParamOf(const ShapedLayer& layer) { return layer.layer->param(); }

bool IsLoss(const Layer& layer) {
  return dynamic_cast<const LossLayer*>(&layer) != nullptr || layer.LossWeight(0) != 0;
}

// Which layers and blobs the results of a net depend on.
class Results {
 public:
  explicit Results(const ShapedNet& net) : net_(net), kept_(net.layers.size(), true) {
    for (size_t i = 0; i < net.layers.size(); ++i) FindRemoved(i);
    for (const ShapedLayer& layer : net.layers) {
      read_.insert(ParamOf(layer).bottom().begin(), ParamOf(layer).bottom().end());
    }
    const int judge = FindJudge();
    if (judge >= 0) wanted_.insert(ParamOf(net.layers[judge]).bottom(0));
    for (size_t i = 0; i < net.layers.size(); ++i) FindOutputs(i);
    std::set<std::string> needed(outputs_.begin(), outputs_.end());
    for (size_t i = net.layers.size(); i-- > 0;) FindNeeded(i, &needed);
  }

  // Layers that the outputs need, without Input.
  const std::vector<bool>& kept() const { return kept_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  // The last layer that reads class scores which are an output; null if there is none.
  const Layer* scores_reader() const { return scores_reader_; }

 private:
  // The graph leaves out labels, losses, accuracies, and blobs that are computed from them.
  void FindRemoved(size_t i) {
    const Layer& layer = *net_.layers[i].layer;
    const LayerParameter& p = layer.param();
    if (p.type() == "Input") {
      const auto& input = static_cast<const InputLayer&>(layer);
      for (int t = 0; t < p.top_size(); ++t) {
        if (!input.IsImage(t)) removed_.insert(p.top(t));
      }
      return;
    }
    bool removed = IsLoss(layer) || p.type() == "Accuracy";
    for (int b = 0; b < p.bottom_size(); ++b) {
      removed |= !layer.ReadsShapeOnly(b) && removed_.count(p.bottom(b)) > 0;
    }
    if (!removed) return;
    kept_[i] = false;
    removed_.insert(p.top().begin(), p.top().end());
  }

  bool Judges(size_t i) const {
    const LayerParameter& p = ParamOf(net_.layers[i]);
    return p.bottom_size() > 0 && removed_.count(p.bottom(0)) == 0;
  }

  // The layer whose first bottom is a result of the net: the last one that reads class scores, else
  // the last loss, else the last layer that was removed; -1 without any.
  int FindJudge() {
    int judges[3] = {-1, -1, -1};
    for (size_t i = 0; i < net_.layers.size(); ++i) {
      const Layer& layer = *net_.layers[i].layer;
      if (!Judges(i)) continue;
      const int index = static_cast<int>(i);
      if (ReadsClassScores(layer.type())) judges[0] = index;
      if (IsLoss(layer)) judges[1] = index;
      if (!kept_[i]) judges[2] = index;
    }
    if (judges[0] >= 0) scores_reader_ = net_.layers[judges[0]].layer.get();
    for (const int judge : judges) {
      if (judge >= 0) return judge;
    }
    return -1;
  }

  void FindOutputs(size_t i) {
    const LayerParameter& p = ParamOf(net_.layers[i]);
    if (!kept_[i] || p.type() == "Input") return;
    for (const std::string& top : p.top()) {
      if (wanted_.count(top) > 0 || read_.count(top) == 0) outputs_.push_back(top);
    }
  }

  void FindNeeded(size_t i, std::set<std::string>* needed) {
    const Layer& layer = *net_.layers[i].layer;
    const LayerParameter& p = layer.param();
    const auto is_needed = [&](const std::string& top) { return needed->count(top) > 0; };
    if (p.type() == "Input") {
      kept_[i] = false;
      std::vector<std::string> inputs;
      std::copy_if(p.top().begin(), p.top().end(), std::back_inserter(inputs), is_needed);
      inputs_.insert(inputs_.begin(), inputs.begin(), inputs.end());
      return;
    }
    kept_[i] = kept_[i] && std::any_of(p.top().begin(), p.top().end(), is_needed);
    if (!kept_[i]) return;
    for (int b = 0; b < p.bottom_size(); ++b) {
      if (!layer.ReadsShapeOnly(b)) needed->insert(p.bottom(b));
    }
  }

  const ShapedNet& net_;
  std::vector<bool> kept_;
  std::set<std::string> removed_, read_, wanted_;  // blobs
  std::vector<std::string> inputs_, outputs_;
  const Layer* scores_reader_ = nullptr;
};

// A blob of an open batch, from its shapes for kBatch and kOtherBatch images.
InferenceBlob OpenBlob(const Layer& layer, const Shape& shape, const Shape& other) {
  if (shape == other) return {shape, false};
  bool follows = shape.rank() == other.rank() && shape[0] * kOtherBatch == other[0] * kBatch &&
                 shape[0] % kBatch == 0;
  for (int i = 1; follows && i < shape.rank(); ++i) follows = shape[i] == other[i];
  if (!follows) {
    layer.Fail("its output is ", shape.ToString(), " for a batch of ", kBatch, " and ",
               other.ToString(), " for a batch of ", kOtherBatch,
               ", but only the first extent may follow an open batch: ", kRemedy);
  }
  return {shape, true};
}

void CheckParametersAreOpen(const Layer& layer, const Layer& other) {
  for (size_t i = 0; i < layer.parameters().size(); ++i) {
    const ParameterSpec& spec = layer.parameters()[i];
    if (spec.shape == other.parameters()[i].shape) continue;
    layer.Fail("its ", spec.name, " is ", spec.shape.ToString(), " for a batch of ", kBatch,
               " and ", other.parameters()[i].shape.ToString(), " for a batch of ", kOtherBatch,
               ": ", kRemedy);
  }
}

}  // namespace

InferenceGraph NewInferenceGraph(const NetSource& source, int64_t batch, const Shape& image_shape,
                                 const LabelConfig* labels) {
  InferenceGraph graph;
  graph.name = source.param.name().empty() ? source.file : source.param.name();
  graph.open_batch = batch == 0;
  graph.batch = graph.open_batch ? kBatch : batch;
  const ShapedNet net = graph.open_batch ? ShapeForOpenBatch(source, kBatch, image_shape, labels)
                                         : ShapeNet(source, TEST, batch, image_shape, labels);
  ShapedNet other;
  if (graph.open_batch) other = ShapeForOpenBatch(source, kOtherBatch, image_shape, labels);
  const Results results(net);
  graph.inputs = results.inputs();
  graph.outputs = results.outputs();
  if (graph.outputs.empty() || graph.inputs.empty()) {
    ThrowUserError(source.file,
                   ": phase TEST of the net computes nothing from images but losses and "
                   "accuracies: there is nothing to export");
  }
  if (results.scores_reader() != nullptr) {
    const LayerParameter& p = results.scores_reader()->param();
    graph.scores = p.bottom(0);
    graph.class_axis =
        p.type() == "InfogainLoss" ? p.infogain_loss_param().axis() : p.softmax_param().axis();
  }
  const std::set<std::string> inputs(graph.inputs.begin(), graph.inputs.end());
  for (size_t i = 0; i < net.layers.size(); ++i) {
    const Layer& layer = *net.layers[i].layer;
    const bool kept = results.kept()[i];
    if (kept && graph.open_batch) CheckParametersAreOpen(layer, *other.layers[i].layer);
    for (const std::string& top : layer.param().top()) {
      if (!kept && inputs.count(top) == 0) continue;
      const Shape& shape = net.shapes.at(top);
      graph.blobs[top] = graph.open_batch ? OpenBlob(layer, shape, other.shapes.at(top))
                                          : InferenceBlob{shape, false};
    }
    if (!kept) continue;
    InferenceLayer added;
    added.layer = net.layers[i].layer;
    for (const ParameterName& name : net.layers[i].parameters) {
      added.parameters.push_back(name.name);
    }
    graph.layers.push_back(std::move(added));
  }
  return graph;
}

}  // namespace gf
