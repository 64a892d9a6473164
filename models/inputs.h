#pragma once

#include <cstdint>
#include <vector>

#include "core/shape.h"
#include "models/graph.h"

namespace gf {

// Turns the Data, ImageData and Input layers of a graph into Input layers of the job's batch:
// the first extent becomes batch_size (0 keeps the file's), images get image_shape (C, H, W)
// where the file does not say. Throws UserError where the file says otherwise, or nobody does.
void SetInputs(int64_t batch_size, const Shape& image_shape, std::vector<GraphNode>* nodes);

}  // namespace gf
