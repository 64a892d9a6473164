#pragma once

#include <cstdint>
#include <vector>

#include "core/config/job.pb.h"
#include "core/shape.h"
#include "models/graph.h"

namespace gf {

// Turns the data layers (models/data_layers.h) and Input layers of a graph into Input layers for
// the job's batch. The first extent becomes batch_size (0 keeps the extent in the file). Images get
// image_shape (C, H, W) if the file does not state a size. Tops without images get a number per
// label of `labels` (null: as the file says). Throws UserError if the sizes contradict each other
// or none is known.
void SetInputs(int64_t batch_size, const Shape& image_shape, std::vector<GraphNode>* nodes,
               const LabelConfig* labels = nullptr);

}  // namespace gf
