#pragma once

#include "models/graph.h"

namespace gf {

// Replaces layers that other versions of Caffe have by layers of this program that do the same:
// depthwise convolutions by convolutions with as many groups as outputs, a Scale with two bottoms
// by ScaleBy and a Bias with two by BiasBy, NVCaffe's BatchNorm with scale_bias by one that has
// merged with a Scale. Throws UserError for settings that have no counterpart.
void ReplaceVariant(GraphNode* node);

}  // namespace gf
