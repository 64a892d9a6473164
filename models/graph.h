#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"

namespace gf {

// A layer of a resolved graph: every blob is written once.
struct GraphNode {
  LayerParameter param;
  std::string location;  // "file:line:col"
  // Position in the resolved graph, before layers are merged; selects the layer's random stream.
  int index = 0;
  // Where a Scale that was merged into this BatchNorm stood: "file:line:col: layer "x" (Scale)".
  std::string merged_scale;
  // Whether an earlier layer has the name in the file: param.name() is "x#2" then. Layers without
  // parameters and statistics may share a name, as in Caffe.
  bool renamed = false;
};

// The layers of a net that belong to a phase, in an order in which each blob is produced before it
// is used. In-place layers (top = bottom) write a new blob named "x#2", "x#3", ... Throws UserError
// for a missing blob, a cycle, or a repeated name of a blob.
std::vector<GraphNode> ResolveGraph(const NetSource& source, Phase phase);

// For messages: layer "conv1" (Convolution)
std::string LayerWords(const GraphNode& node);

// The blob's name in the file, without the "#2" of an in-place layer.
std::string PlainBlobName(const std::string& blob);

}  // namespace gf
