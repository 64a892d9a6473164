#include "models/prediction_net.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/graph.h"
#include "models/inputs.h"

namespace gf {
namespace {

// The data layer as an Input of the same shapes, without its other settings.
LayerParameter InputOf(const LayerParameter& layer) {
  LayerParameter input;
  input.set_name(layer.name());
  input.set_type("Input");
  *input.mutable_top() = layer.top();
  *input.mutable_include() = layer.include();
  *input.mutable_exclude() = layer.exclude();
  *input.mutable_input_param() = layer.input_param();
  return input;
}

// An InfogainLoss reads its matrix from a file. The matrix weighs the loss and not the scores.
void DropMatrix(LayerParameter* layer) {
  const bool reads = layer->type() == "InfogainLoss" && layer->bottom_size() < 3 &&
                     layer->infogain_loss_param().has_source();
  if (!reads) return;
  layer->set_type("SoftmaxWithLoss");
  layer->mutable_softmax_param()->set_axis(layer->infogain_loss_param().axis());
  layer->clear_infogain_loss_param();
}

bool NamesParameter(const LayerParameter& layer) {
  return std::any_of(layer.param().begin(), layer.param().end(),
                     [](const ParamSpec& param) { return param.has_name(); });
}

}  // namespace

NetParameter PredictionNet(const NetSource& net, const Shape& image, const LabelConfig& labels) {
  std::vector<GraphNode> nodes = ResolveGraph(net, TEST);
  SetInputs(0, image, &nodes, &labels);
  NetParameter result = net.param;
  result.clear_input();
  result.clear_input_shape();
  result.clear_input_dim();
  result.clear_layer();
  std::map<std::string, const LayerParameter*> tested;  // by location
  for (const GraphNode& node : nodes) {
    tested[node.location] = &node.param;
    // One that was no layer.
    if (node.location == net.file) *result.add_layer() = InputOf(node.param);
  }
  for (int i = 0; i < net.param.layer_size(); ++i) {
    const LayerParameter& layer = net.param.layer(i);
    const auto found = tested.find(net.layer_locations[i]);
    if (found != tested.end() && found->second->type() == "Input") {
      *result.add_layer() = InputOf(*found->second);
    } else if (found != tested.end() || NamesParameter(layer)) {
      LayerParameter* const copy = result.add_layer();
      *copy = layer;
      // A layer without a name is called after its place in the file.
      if (found != tested.end() && layer.name().empty()) copy->set_name(found->second->name());
      DropMatrix(copy);
    }
  }
  return result;
}

}  // namespace gf
