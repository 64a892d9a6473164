#pragma once

#include <map>
#include <vector>

#include "export/inference_graph.h"
#include "models/parameter_store.h"

namespace gf {

// y = factor[c] * x + offset[c] for each channel c.
struct ChannelAffine {
  std::vector<double> factor, offset;
};

// The BatchNorm layers that can become a part of the layer before them, by that layer's number in
// net.layers. The layer is a Convolution, or an InnerProduct with one vector per image; nothing
// else reads its top, and no other layer shares its parameters. The norm uses the running
// statistics.
std::map<int, int> FoldableBatchNorms(const InferenceGraph& net);

// A BatchNorm that uses the running statistics, with its gamma and beta.
ChannelAffine AffineOf(const InferenceLayer& norm, const ParameterStore& store);

}  // namespace gf
