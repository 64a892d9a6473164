#include "simulate/net_model.h"

#include <map>
#include <utility>

#include "core/error.h"
#include "layers/layer.h"
#include "models/graph.h"
#include "models/inputs.h"
#include "models/parameter_names.h"
#include "models/rewrites.h"

namespace gf {

NetModel ModelOf(const NetSource& source, int batch, const Shape& image,
                 const LabelConfig* labels) {
  std::vector<GraphNode> nodes = ResolveGraph(source, TRAIN);
  SetInputs(batch, image, &nodes, labels);
  MergeBatchNormAndScale(&nodes);
  NetModel net;
  net.name = source.param.name();
  net.batch = batch;
  std::map<std::string, Shape> blobs;
  ParameterNames parameter_names(source.param);
  std::vector<std::vector<PoolEntry>> parameters;  // of each layer, without those of other owners
  for (GraphNode& node : nodes) {
    LayerParameter& p = node.param;
    if (p.top_size() == 0) p.add_top(p.name());  // a loss
    const auto layer = LayerRegistry::Get().Create(StrCat(node.location, ": layer type"), p.type(),
                                                   p, TRAIN, node.location);
    std::vector<Shape> bottoms;
    for (const std::string& bottom : p.bottom()) bottoms.push_back(blobs.at(bottom));
    layer->SetUp(bottoms);
    LayerModel model;
    model.name = p.name();
    model.type = p.type();
    model.forward_flops = layer->ForwardFlops();
    for (int i = 0; i < p.top_size() && i < static_cast<int>(layer->tops().size()); ++i) {
      blobs[p.top(i)] = layer->tops()[i];
      if (!IsSane(layer->tops()[i])) layer->Fail("impossible output shape");
      model.values += layer->tops()[i].count();
    }
    parameters.emplace_back();
    const std::vector<ParameterName> names = parameter_names.NamesOf(*layer);
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].owned) continue;
      PoolEntry entry;
      entry.name = names[i].name;
      entry.layer = model.name;
      entry.shape = layer->parameters()[i].shape;
      parameters.back().push_back(std::move(entry));
    }
    net.layers.push_back(std::move(model));
  }
  for (size_t k = nodes.size(); k-- > 0;) {
    for (PoolEntry& entry : parameters[k]) {
      net.layers[k].entries.push_back(static_cast<int>(net.layout.entries().size()));
      net.layout.Add(std::move(entry));
    }
  }
  if (net.layout.entries().empty()) {
    ThrowUserError(source.file, ": the net has no parameters in phase TRAIN: nothing to simulate");
  }
  return net;
}

}  // namespace gf
