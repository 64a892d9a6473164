#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/shape.h"
#include "layers/layer.h"

namespace gf {

// A layer of an inference graph.
struct InferenceLayer {
  std::shared_ptr<const Layer> layer;   // set up
  std::vector<std::string> parameters;  // names in the pools, in the layer's order
};

struct InferenceBlob {
  Shape shape;  // of a batch of InferenceGraph::batch images
  // The batch is open, and the first extent is a multiple of it. Other extents never follow it.
  bool follows_batch = false;
};

// A net of phase TEST without labels, losses, accuracies, and layers that only serve these. A Scale
// after a BatchNorm is merged into it (models/rewrites.h); nothing else is fused.
struct InferenceGraph {
  std::string name;
  int64_t batch = 0;        // images, of the shapes
  bool open_batch = false;  // the graph takes any batch
  std::vector<InferenceLayer> layers;
  std::map<std::string, InferenceBlob> blobs;
  std::vector<std::string> inputs;  // blobs of images
  // The blobs that no layer of the net reads, and the argument of the last Softmax or loss.
  std::vector<std::string> outputs;
  // The blob of class scores (Net::Logits), one of the outputs, and the axis of the classes, which
  // may count from the end. Empty without a Softmax or a loss of classes.
  std::string scores;
  int class_axis = 1;
};

// `batch`: images per batch; 0 leaves the batch open. `image_shape`: C, H, W where the net does not
// state a size; `labels`: what inputs of labels hold (SetInputs). Throws UserError for mistakes in
// the net, for a net without results, and, if the batch is open, for a layer that fixes the batch
// or moves it to another axis.
InferenceGraph NewInferenceGraph(const NetSource& source, int64_t batch, const Shape& image_shape,
                                 const LabelConfig* labels = nullptr);

}  // namespace gf
