#include "models/job_net.h"

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/config/job_checks.h"
#include "core/error.h"
#include "models/class_losses.h"
#include "models/data_layers.h"
#include "models/graph.h"

namespace gf {
namespace {

void Replace(const InputConfig& input, BlobShape* shape) {
  if (!HoldsImages(*shape)) return;
  shape->set_dim(1, input.has_channels() ? input.channels() : kFollowsData);
  shape->set_dim(2, input.has_height() ? input.height() : kFollowsData);
  shape->set_dim(3, input.has_width() ? input.width() : kFollowsData);
}

// A data layer without a crop takes what the data deliver.
void Replace(const InputConfig& input, const std::string& location, LayerParameter* layer) {
  if (layer->type() == "DummyData") DummyDataToInput(location, layer);
  for (BlobShape& shape : *layer->mutable_input_param()->mutable_shape()) Replace(input, &shape);
  if (layer->type() == "Input") return;
  layer->clear_input_param();
  ClearImageSize(layer);
  if (input.has_height() && input.height() == input.width()) {
    layer->mutable_transform_param()->set_crop_size(input.height());
  }
}

// Whether a layer has as many channels as its bottom.
bool KeepsChannels(const std::string& type) {
  static const auto* const kTypes = new std::set<std::string>{
      "AbsVal",  "BNLL",  "BatchNorm", "Bias",   "Clip", "Crop",      "Dropout", "ELU",
      "Exp",     "GELU",  "HardSwish", "Interp", "LRN",  "LayerNorm", "Log",     "PReLU",
      "Pooling", "Power", "ReLU",      "Scale",  "SiLU", "Sigmoid",   "Split",   "StochasticDepth",
      "Swish",   "TanH"};
  return kTypes->count(type) != 0;
}

// Whether a layer has num_output outputs, in convolution_param or inner_product_param.
bool HasOutputs(const std::string& type) {
  return type == "InnerProduct" || type == "Convolution" || type == "Deconvolution";
}

// The layers that make the classes of a phase's losses.
std::vector<GraphNode> Heads(const NetSource& net, Phase phase, LabelConfig::Type labels) {
  const std::vector<GraphNode> nodes = ResolveGraph(net, phase);
  std::map<std::string, const GraphNode*> producer;
  for (const GraphNode& node : nodes) {
    for (const std::string& top : node.param.top()) producer[top] = &node;
  }
  std::vector<GraphNode> heads;
  for (const GraphNode& loss : nodes) {
    if (!ReadsOutputs(labels, loss.param.type())) continue;
    const GraphNode* node = &loss;
    do {
      if (node->param.bottom_size() == 0) {
        ThrowUserError(loss.location,
                       ": classes: no InnerProduct, Convolution or Deconvolution leads to ",
                       LayerWords(loss), ": remove classes from the job");
      }
      node = producer.at(node->param.bottom(0));
    } while (KeepsChannels(node->param.type()));
    if (!HasOutputs(node->param.type())) {
      ThrowUserError(node->location, ": classes: ", LayerWords(*node),
                     " leads to the loss, not an InnerProduct, Convolution or Deconvolution: "
                     "change num_output in the net itself, and remove classes from the job");
    }
    const uint32_t groups = node->param.convolution_param().group();
    if (node->param.type() == "Deconvolution" && groups > 1) {
      ThrowUserError(node->location, ": classes: ", LayerWords(*node), " enlarges its bottom in ",
                     groups,
                     " groups, so that earlier layers make the classes: change num_output and "
                     "group in the net itself, and remove classes from the job");
    }
    heads.push_back(*node);
  }
  return heads;
}

int64_t Outputs(const LayerParameter& layer) {
  return layer.type() == "InnerProduct" ? layer.inner_product_param().num_output()
                                        : layer.convolution_param().num_output();
}

// Removes Accuracy layers whose top_k exceeds `classes`, unless a layer reads their tops.
void RemoveAccuracyAbove(int64_t classes, NetSource* net) {
  std::set<std::string> read;
  for (const LayerParameter& layer : net->param.layer()) {
    read.insert(layer.bottom().begin(), layer.bottom().end());
  }
  for (int i = net->param.layer_size() - 1; i >= 0; --i) {
    const LayerParameter& layer = net->param.layer(i);
    if (layer.type() != "Accuracy" || layer.accuracy_param().top_k() <= classes) continue;
    if (std::any_of(layer.top().begin(), layer.top().end(),
                    [&](const std::string& top) { return read.count(top) != 0; })) {
      continue;
    }
    net->param.mutable_layer()->DeleteSubrange(i, 1);
    net->layer_locations.erase(net->layer_locations.begin() + i);
  }
}

}  // namespace

void ChangeInput(const InputConfig& input, NetSource* net) {
  NetParameter& param = net->param;
  for (BlobShape& shape : *param.mutable_input_shape()) Replace(input, &shape);
  // The older way to write them.
  const bool old = param.input_shape_size() == 0;
  for (int i = 0; old && i + 4 <= param.input_dim_size(); i += 4) {
    BlobShape shape;
    for (int d = 0; d < 4; ++d) shape.add_dim(param.input_dim(i + d));
    Replace(input, &shape);
    *param.add_input_shape() = shape;
  }
  if (old) param.clear_input_dim();
  for (int i = 0; i < param.layer_size(); ++i) {
    LayerParameter* const layer = param.mutable_layer(i);
    if (layer->type() == "Input" || IsDataLayer(layer->type())) {
      Replace(input, net->layer_locations[i], layer);
    }
  }
}

void ChangeClasses(int64_t classes, NetSource* net, LabelConfig::Type labels) {
  // The net of a checkpoint has phase TEST alone. Building the net reports the mistakes of a phase.
  std::vector<GraphNode> heads;
  std::exception_ptr errors[2];
  for (const Phase phase : {TRAIN, TEST}) {
    try {
      for (GraphNode& head : Heads(*net, phase, labels)) heads.push_back(std::move(head));
    } catch (const UserError&) {
      errors[phase] = std::current_exception();
    }
  }
  if (errors[TRAIN] && errors[TEST]) std::rethrow_exception(errors[TRAIN]);
  if (heads.empty()) {
    ThrowUserError(net->file, ": classes: the net has no ", ReadersOfOutputs(labels),
                   ": remove classes from the job");
  }
  std::set<std::string> changed;  // by location
  for (const GraphNode& head : heads) {
    if (Outputs(head.param) != Outputs(heads[0].param)) {
      ThrowUserError(head.location, ": classes: ", LayerWords(head), " has ", Outputs(head.param),
                     " outputs, but ", LayerWords(heads[0]), " has ", Outputs(heads[0].param),
                     ": it is not clear which of them are the classes: change num_output in the "
                     "net itself, and remove classes from the job");
    }
    changed.insert(head.location);
  }
  for (int i = 0; i < net->param.layer_size(); ++i) {
    if (changed.count(net->layer_locations[i]) == 0) continue;
    LayerParameter* const layer = net->param.mutable_layer(i);
    const auto outputs = static_cast<uint32_t>(classes);
    if (layer->type() == "InnerProduct") {
      layer->mutable_inner_product_param()->set_num_output(outputs);
    } else {
      layer->mutable_convolution_param()->set_num_output(outputs);
    }
  }
  RemoveAccuracyAbove(classes, net);
}

NetSource ReadJobNet(const JobConfig& config) {
  NetSource net = ReadNet(config.net());
  if (config.has_input()) ChangeInput(config.input(), &net);
  if (config.classes() > 0) {
    ChangeClasses(config.classes(), &net, config.train_data().labels().type());
  }
  return net;
}

LabelConfig LabelsOf(const JobConfig& config, Phase phase) {
  const LabelConfig& train = config.train_data().labels();
  LabelConfig labels =
      phase == TEST && config.has_validation_data() ? config.validation_data().labels() : train;
  labels.clear_file();
  if (labels.type() == LabelConfig::CLASS) return labels;
  if (labels.count() == 0) labels.set_count(train.count());
  if (labels.count() == 0) labels.set_count(config.classes());
  return labels;
}

NetOptions NetOptionsOf(const JobConfig& config, Phase phase) {
  NetOptions net;
  net.phase = phase;
  net.labels = LabelsOf(config, phase);
  net.seed = config.seed();
  net.compute = ToDType(config.compute_type());
  net.recompute = config.recompute();
  net.record = config.cuda_graphs();
  net.allow_tf32 = config.allow_tf32();
  if (phase == TEST) return net;
  net.mixed = MixesImages(config.train_data());
  if (config.solver().has_label_smoothing())
    net.label_smoothing = config.solver().label_smoothing();
  net.class_weights.assign(config.solver().class_weight().begin(),
                           config.solver().class_weight().end());
  for (const InitConfig& init : config.init()) {
    net.init.emplace_back(init.pattern(), init.filler());
  }
  net.freeze.assign(config.freeze().begin(), config.freeze().end());
  return net;
}

}  // namespace gf
