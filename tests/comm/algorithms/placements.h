#pragma once

#include <map>
#include <string>
#include <vector>

#include "comm/plan.h"
#include "core/random.h"

namespace gf {

// hosts[r] = any number of rank r's host.
inline Topology FromHosts(const std::vector<int>& hosts) {
  std::map<int, int> number;
  Topology topology;
  for (const int host : hosts) {
    topology.node.push_back(number.emplace(host, static_cast<int>(number.size())).first->second);
  }
  return topology;
}

// `world` ranks, `per_node` after each other on every node but the last.
inline Topology InBlocks(int world, int per_node) {
  std::vector<int> hosts;
  for (int r = 0; r < world; ++r) hosts.push_back(r / per_node);
  return FromHosts(hosts);
}

// `world` ranks dealt out to `nodes` nodes in turn.
inline Topology Dealt(int world, int nodes) {
  std::vector<int> hosts;
  for (int r = 0; r < world; ++r) hosts.push_back(r % nodes);
  return FromHosts(hosts);
}

// Nodes of 1, 2, 3, ... ranks.
inline Topology Unequal(int world) {
  std::vector<int> hosts;
  for (int node = 0; static_cast<int>(hosts.size()) < world; ++node) {
    for (int i = 0; i <= node && static_cast<int>(hosts.size()) < world; ++i) {
      hosts.push_back(node);
    }
  }
  return FromHosts(hosts);
}

inline Topology Drawn(Random* random, int world) {
  const int nodes = 1 + static_cast<int>(random->Below(world));
  std::vector<int> hosts;
  for (int r = 0; r < world; ++r) hosts.push_back(static_cast<int>(random->Below(nodes)));
  return FromHosts(hosts);
}

// One of each kind.
inline std::vector<Topology> Placements(int world) {
  std::vector<Topology> placements = {InBlocks(world, 1), InBlocks(world, world), Unequal(world)};
  for (int n : {2, 3, 4, 8}) {
    if (n >= world) continue;
    placements.push_back(InBlocks(world, n));
    placements.push_back(Dealt(world, n));
  }
  return placements;
}

inline std::string Describe(const Topology& topology) {
  std::string text = std::to_string(topology.world()) + " ranks on nodes";
  for (const int node : topology.node) text += " " + std::to_string(node);
  return text;
}

}  // namespace gf
