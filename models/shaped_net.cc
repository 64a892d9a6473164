#include "models/shaped_net.h"

#include "models/graph.h"
#include "models/inputs.h"
#include "models/layer_checks.h"
#include "models/rewrites.h"

namespace gf {

// Compilation (models/compile.cc) goes over the layers in its own way: it needs the types and
// gradients of blobs, too.
ShapedNet ShapeNet(const NetSource& source, Phase phase, int64_t batch, const Shape& image_shape,
                   const LabelConfig* labels) {
  std::vector<GraphNode> nodes = ResolveGraph(source, phase);
  SetInputs(batch, image_shape, &nodes, labels);
  MergeBatchNormAndScale(&nodes);
  ParameterNames parameter_names(source.param);
  ShapedNet net;
  for (const GraphNode& node : nodes) {
    LayerParameter p = node.param;
    CheckType(node);
    // As in Caffe, a loss may omit its top.
    if (p.top_size() == 0 && p.type() != "Silence") p.add_top(p.name() + " (loss)");
    const std::shared_ptr<Layer> layer =
        LayerRegistry::Get().Create("layer type", p.type(), p, phase, node.location);
    CheckCounts(*layer);
    std::vector<Shape> bottoms;
    for (const std::string& bottom : p.bottom()) bottoms.push_back(net.shapes.at(bottom));
    layer->SetUp(bottoms);
    for (const ParameterSpec& spec : layer->parameters()) {
      if (IsSane(spec.shape)) continue;
      layer->Fail("its ", spec.name, " would have the ", Impossible(spec.shape));
    }
    for (int i = 0; i < p.top_size(); ++i) {
      const Shape& shape = layer->tops()[i];
      if (!IsSane(shape)) {
        layer->Fail(Impossible(shape, "output shape"), ": change the layer or its input");
      }
      net.shapes[p.top(i)] = shape;
    }
    net.layers.push_back({layer, parameter_names.NamesOf(*layer)});
  }
  return net;
}

}  // namespace gf
