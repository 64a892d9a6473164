#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"

namespace gf {

// A layer of a resolved graph: every blob is written once.
struct GraphNode {
  LayerParameter param;
  std::string location;  // "file:line:col"
  // Place in the resolved graph, before layers are merged: names the layer's random stream.
  int index = 0;
};

// The layers of a net that belong to a phase, in an order in which each blob is made before it
// is used. In-place layers (top = bottom) write a new blob, named "x#2", "x#3", ...
// Throws UserError for a missing blob, a cycle, a blob or layer name used twice.
std::vector<GraphNode> ResolveGraph(const NetSource& source, Phase phase);

// Blob name without the "#2" of an in-place layer.
std::string PlainBlobName(const std::string& blob);

}  // namespace gf
