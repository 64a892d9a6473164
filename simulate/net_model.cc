#include "simulate/net_model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/config/name_pattern.h"
#include "core/error.h"
#include "layers/layer.h"
#include "models/shaped_net.h"

namespace gf {
namespace {

// Blobs with a gradient: with the parameters that are trained, and if all of them were.
class Gradients {
 public:
  // Notes the layer's tops. Returns the part of its backward pass that runs. A pass with parameters
  // and a bottom to pass a gradient to has two parts of equal work. A frozen layer between trained
  // ones computes the gradient of its parameters all the same.
  double AddLayer(const Layer& layer, bool has_parameters, bool trains) {
    const bool all_below = AnyBottom(layer, all_), below = AnyBottom(layer, trained_);
    for (const std::string& top : layer.param().top()) {
      Note(top, has_parameters || all_below, &all_);
      Note(top, trains || below, &trained_);
    }
    const int whole = has_parameters + all_below;
    if (whole == 0) return 1;
    return static_cast<double>((has_parameters && (trains || below)) + below) / whole;
  }

 private:
  static bool AnyBottom(const Layer& layer, const std::set<std::string>& blobs) {
    for (int i = 0; i < layer.param().bottom_size(); ++i) {
      if (blobs.count(layer.param().bottom(i)) != 0 && layer.Differentiable(i)) return true;
    }
    return false;
  }

  // A top may have the name of a blob that a layer before has made.
  static void Note(const std::string& top, bool has_gradient, std::set<std::string>* blobs) {
    blobs->erase(top);
    if (has_gradient) blobs->insert(top);
  }

  std::set<std::string> all_, trained_;
};

void CheckFreeze(const std::vector<std::string>& freeze, const NetModel& net,
                 const PoolLayout& frozen) {
  for (size_t i = 0; i < freeze.size(); ++i) {
    CheckPattern(StrCat("freeze[", i, "]"), freeze[i], {&net.layout, &frozen});
  }
  if (net.layout.entries().empty() && !frozen.entries().empty()) {
    ThrowUserError("freeze: fits all parameters of the net: nothing is left to train");
  }
}

}  // namespace

NetModel ModelOf(const NetSource& source, int batch, const Shape& image,
                 const std::vector<std::string>& freeze, const LabelConfig* labels, Phase phase) {
  const ShapedNet shaped = ShapeNet(source, phase, batch, image, labels);
  NetModel net;
  net.name = source.param.name();
  net.batch = batch;
  if (image.rank() == 3) net.pixels = image[1] * image[2];
  // Of each layer, without the parameters that other layers own.
  std::vector<std::vector<PoolEntry>> parameters;
  PoolLayout frozen;
  Gradients gradients;
  for (const ShapedLayer& shaped_layer : shaped.layers) {
    const Layer& layer = *shaped_layer.layer;
    const std::vector<ParameterName>& names = shaped_layer.parameters;
    LayerModel model;
    model.name = layer.name();
    model.type = layer.type();
    model.forward_flops = layer.ForwardFlops();
    for (const Shape& top : layer.tops()) model.values += top.count();
    parameters.emplace_back();
    model.backward = gradients.AddLayer(
        layer, !names.empty(),
        std::any_of(names.begin(), names.end(),
                    [&](const ParameterName& name) { return !FitsOne(freeze, name.name); }));
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].owned) continue;
      PoolEntry entry;
      entry.name = names[i].name;
      entry.layer = model.name;
      entry.shape = layer.parameters()[i].shape;
      if (FitsOne(freeze, entry.name)) {
        frozen.Add(std::move(entry));
      } else {
        parameters.back().push_back(std::move(entry));
      }
    }
    net.layers.push_back(std::move(model));
  }
  for (size_t k = parameters.size(); k-- > 0;) {
    for (PoolEntry& entry : parameters[k]) {
      net.layers[k].entries.push_back(static_cast<int>(net.layout.entries().size()));
      net.layout.Add(std::move(entry));
    }
  }
  CheckFreeze(freeze, net, frozen);
  if (net.layout.entries().empty()) {
    ThrowUserError(source.file, ": the net has no parameters in phase ", Phase_Name(phase),
                   ": nothing to simulate");
  }
  return net;
}

}  // namespace gf
