#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/graph.h"
#include "models/rewrites.h"
#include "tests/models/net_for_test.h"

namespace gf {

// The resolved graph of these layers after an Input "x".
inline std::vector<GraphNode> Nodes(const std::string& layers, Phase phase = TRAIN) {
  return ResolveGraph(
      ParseNet("layer { name: 'x' type: 'Input' top: 'x' }" + layers, "test.prototxt"), phase);
}

// The same after all rewrites.
inline std::vector<GraphNode> Fused(const std::string& layers, Phase phase = TRAIN,
                                    const BatchNormFusions& fusions = {}) {
  std::vector<GraphNode> nodes = Nodes(layers, phase);
  MergeBatchNormAndScale(&nodes);
  FuseLayers(phase, fusions, &nodes);
  return nodes;
}

// "x c r": names in order, without the input.
inline std::string Names(const std::vector<GraphNode>& nodes) {
  std::string names;
  for (const GraphNode& node : nodes) {
    if (node.param.type() != "Input") names += (names.empty() ? "" : " ") + node.param.name();
  }
  return names;
}

// The layer of this name; fails the test if there is none.
inline const LayerParameter& Find(const std::vector<GraphNode>& nodes, const char* name) {
  for (const GraphNode& node : nodes) {
    if (node.param.name() == name) return node.param;
  }
  ADD_FAILURE() << "no layer " << name;
  return nodes[0].param;
}

}  // namespace gf
