#pragma once

#include <vector>

#include "models/fuse_batch_norms.h"
#include "models/graph.h"

namespace gf {

// Merges Caffe's idiom of a BatchNorm followed by a Scale into one BatchNorm layer with gamma and
// beta, named after the BatchNorm. This pass always runs, because it determines parameter names.
void MergeBatchNormAndScale(std::vector<GraphNode>* nodes);

// Merges layers that need no separate pass over memory: a ReLU into the layer before it
// (Convolution, InnerProduct, BatchNorm, Eltwise), a residual sum into the BatchNorm before it, and
// the gradient of a ReLU into the max pooling after it. Removes Flatten before InnerProduct, and
// Dropout and StochasticDepth in phase TEST. In phase TRAIN, then fuses BatchNorms with their
// neighbors, and returns what FuseBatchNorms returns. Results do not change but for rounding.
std::vector<Unfused> FuseLayers(Phase phase, const BatchNormFusions& fusions,
                                std::vector<GraphNode>* nodes);

}  // namespace gf
