#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/shape.h"
#include "layers/layer.h"
#include "models/parameter_names.h"

namespace gf {

// A layer that knows its shapes.
struct ShapedLayer {
  std::shared_ptr<const Layer> layer;     // set up
  std::vector<ParameterName> parameters;  // in the layer's order
};

// A net without kernels, memory and gradients: what an export and a simulation start from. A Scale
// after a BatchNorm is merged into it (models/rewrites.h); nothing else is fused.
struct ShapedNet {
  std::vector<ShapedLayer> layers;      // in the order of forward
  std::map<std::string, Shape> shapes;  // of the blobs
};

// The layers of a phase for batches of `batch` images (0: the batch of the file) of the shape C, H,
// W, `image_shape` (empty: the net must state it). `labels`: what inputs of labels hold (null: as
// the file says). Throws UserError for mistakes in the net.
ShapedNet ShapeNet(const NetSource& source, Phase phase, int64_t batch, const Shape& image_shape,
                   const LabelConfig* labels = nullptr);

}  // namespace gf
