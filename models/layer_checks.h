#pragma once

#include <vector>

#include "models/compiled_net.h"
#include "models/graph.h"

// What must be right about a layer besides its own settings. All throw UserError that names the
// layer and its place.
namespace gf {

// The type is one that files may name.
void CheckType(const GraphNode& node);

// The layer has as many bottoms and tops as it accepts.
void CheckCounts(const Layer& layer);

// Labels go to bottoms that expect labels, and to no others. Numbers have the compute type: losses
// and indices are always FP32.
void CheckBottomTypes(const CompiledOp& op, const std::vector<CompiledBlob>& blobs, DType compute);

}  // namespace gf
