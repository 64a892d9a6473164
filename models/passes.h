#pragma once

#include <vector>

#include "models/graph.h"

namespace gf {

// Caffe's idiom of a BatchNorm followed by a Scale becomes one BatchNorm layer with gamma and
// beta, named after the BatchNorm; done always, since it decides the parameters' names.
void MergeBatchNormAndScale(std::vector<GraphNode>* nodes);

// Merges what needs no pass over memory of its own: ReLU into the layer before it (Convolution,
// InnerProduct, BatchNorm, Eltwise), a residual sum into the BatchNorm before it, the gradient
// of a ReLU into the max pooling after it; drops Flatten before InnerProduct, and Dropout in
// phase TEST. The results are the same.
void FuseLayers(Phase phase, std::vector<GraphNode>* nodes);

}  // namespace gf
