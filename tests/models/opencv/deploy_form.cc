#include "tests/models/opencv/deploy_form.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/str_cat.h"

namespace gf {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Whether a field says how to train or compute, but not what.
bool IsForTraining(const std::string& name) {
  static const std::set<std::string> kNames = {"param", "include", "exclude",    "phase",
                                               "blobs", "fusion",  "loss_weight"};
  if (kNames.count(name) > 0) return true;
  for (const char* part :
       {"filler", "engine", "forward_", "backward_", "override", "seeker", "scale_bias"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

void RemoveTraining(Message* message) {
  const Reflection* const reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (IsForTraining(field->name())) {
      reflection->ClearField(message, field);
    } else if (field->message_type() != nullptr && !field->is_repeated()) {
      RemoveTraining(reflection->MutableMessage(message, field));
    }
  }
}

// Gives the second of two extents the default that Caffe gives it: OpenCV wants both.
template <typename Window>
void CompletePad(Window* window) {
  if (window->has_pad_h() != window->has_pad_w()) {
    window->set_pad_h(window->pad_h());
    window->set_pad_w(window->pad_w());
  }
}

void AddBlob(const Shape& shape, const std::vector<float>& values, LayerParameter* layer) {
  BlobProto* const blob = layer->add_blobs();
  for (const int64_t d : shape.dims()) blob->mutable_shape()->add_dim(d);
  *blob->mutable_data() = {values.begin(), values.end()};
}

class Builder {
 public:
  explicit Builder(const ParameterStore& store) : store_(store) {
    for (const PoolEntry& entry : store.layout().entries()) entries_[entry.name] = &entry;
    for (const PoolEntry& entry : store.state_layout().entries()) states_[entry.name] = &entry;
  }

  void Add(const GraphNode& node) {
    const LayerParameter& p = node.param;
    const std::string& type = p.type();
    if (type == "Input") return AddInput(p);
    const bool loss = type == "SoftmaxWithLoss";
    if (loss) NoteOutput(p.bottom(0));
    for (const std::string& bottom : p.bottom()) {
      if (labels_.count(bottom) > 0) return;  // a loss or an accuracy
    }
    if (type == "Silence") return;
    if (type == "Softmax") NoteOutput(p.bottom(0));
    for (const std::string& bottom : p.bottom()) read_.insert(bottom);
    for (const std::string& top : p.top()) {
      producers_[top] = p.name();
      order_.push_back(top);
    }
    AddLayer(p);
  }

  DeployForm Take() {
    for (const std::string& blob : order_) {
      if (read_.count(blob) == 0) NoteOutput(blob);
    }
    return std::move(form_);
  }

 private:
  void AddInput(const LayerParameter& p) {
    LayerParameter* const layer = form_.net.add_layer();
    layer->set_name(p.name());
    layer->set_type("Input");
    for (int i = 0; i < p.top_size(); ++i) {
      const BlobShape& shape = p.input_param().shape(std::min(i, p.input_param().shape_size() - 1));
      if (shape.dim_size() < 4) {
        labels_.insert(p.top(i));
        continue;
      }
      layer->add_top(p.top(i));
      *layer->mutable_input_param()->add_shape() = shape;
    }
    if (layer->top_size() == 0) form_.net.mutable_layer()->RemoveLast();
  }

  void AddLayer(const LayerParameter& p) {
    if (p.type() == "Axpy") return AddAxpy(p);
    LayerParameter* const layer = form_.net.add_layer();
    *layer = p;
    RemoveTraining(layer);
    if (p.has_convolution_param()) CompletePad(layer->mutable_convolution_param());
    if (p.type() == "ScaleBy") layer->set_type("Scale");
    if (p.type() == "BiasBy") layer->set_type("Bias");
    LayerParameter* const weights = form_.weights.add_layer();
    weights->set_name(p.name());
    weights->set_type(layer->type());
    if (p.type() == "BatchNorm") {
      AddValues(p.name(), {"running_mean", "running_var"}, weights);
      AddBlob(Shape{1}, {1}, weights);
      norms_[p.top(0)] = p.name();
      if (p.fusion().scale()) AddScaleOf(layer);
    } else if (p.type() == "Scale" && entries_.count(p.name() + ".weight") == 0) {
      AddValues(norms_.at(p.bottom(0)), {"weight", "bias"}, weights);
    } else {
      AddValues(OwnerOf(p), {"weight", "bias"}, weights);
    }
    if (weights->blobs_size() == 0) form_.weights.mutable_layer()->RemoveLast();
  }

  // The first of the layers that share the layer's parameters by name.
  std::string OwnerOf(const LayerParameter& p) {
    if (p.param_size() == 0 || !p.param(0).has_name()) return p.name();
    return owners_.emplace(p.param(0).name(), p.name()).first->second;
  }

  // a x + y as two layers.
  void AddAxpy(const LayerParameter& p) {
    LayerParameter* const product = form_.net.add_layer();
    product->set_name(p.name() + "/product");
    product->set_type("Scale");
    product->add_bottom(p.bottom(1));
    product->add_bottom(p.bottom(0));
    product->add_top(p.top(0) + "/product");
    product->mutable_scale_param()->set_axis(0);
    LayerParameter* const sum = form_.net.add_layer();
    sum->set_name(p.name());
    sum->set_type("Eltwise");
    sum->add_bottom(p.top(0) + "/product");
    sum->add_bottom(p.bottom(2));
    sum->add_top(p.top(0));
  }

  // The scale and bias of NVCaffe's BatchNorm as a layer.
  void AddScaleOf(LayerParameter* norm) {
    const std::string name = norm->name(), top = norm->top(0);
    norm->set_top(0, top + "/norm");
    LayerParameter* const scale = form_.net.add_layer();
    scale->set_name(name + "/scale");
    scale->set_type("Scale");
    scale->add_bottom(top + "/norm");
    scale->add_top(top);
    scale->mutable_scale_param()->set_bias_term(true);
    producers_[top] = scale->name();
    LayerParameter* const weights = form_.weights.add_layer();
    weights->set_name(scale->name());
    weights->set_type("Scale");
    AddValues(name, {"weight", "bias"}, weights);
  }

  void AddValues(const std::string& owner, const std::vector<std::string>& kinds,
                 LayerParameter* layer) const {
    for (const std::string& kind : kinds) {
      const std::string name = StrCat(owner, ".", kind);
      const auto entry = entries_.find(name), state = states_.find(name);
      if (entry != entries_.end()) {
        AddBlob(entry->second->shape, store_.Export(store_.master(), *entry->second), layer);
      } else if (state != states_.end()) {
        AddBlob(state->second->shape, store_.Export(store_.states(), *state->second), layer);
      }
    }
  }

  void NoteOutput(const std::string& blob) {
    const auto producer = producers_.find(blob);
    if (producer == producers_.end()) return;
    for (const DeployForm::Output& output : form_.outputs) {
      if (output.blob == blob) return;
    }
    form_.outputs.push_back({blob, producer->second});
  }

  const ParameterStore& store_;
  std::map<std::string, const PoolEntry*> entries_, states_;  // by name
  DeployForm form_;
  std::set<std::string> labels_, read_;           // blobs
  std::map<std::string, std::string> producers_;  // blob -> layer
  std::map<std::string, std::string> norms_;      // blob -> BatchNorm
  std::map<std::string, std::string> owners_;     // name of a parameter -> layer
  std::vector<std::string> order_;                // blobs
};

}  // namespace

DeployForm NewDeployForm(const std::vector<GraphNode>& nodes, const ParameterStore& store) {
  Builder builder(store);
  for (const GraphNode& node : nodes) builder.Add(node);
  return builder.Take();
}

}  // namespace gf
