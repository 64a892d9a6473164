#include "comm/algorithms/placement.h"

#include <algorithm>

namespace gf {

std::vector<std::vector<int>> RanksByNode(const Topology& topology) {
  std::vector<std::vector<int>> nodes;
  for (int rank = 0; rank < topology.world(); ++rank) {
    const size_t node = topology.node[rank];
    if (node >= nodes.size()) nodes.resize(node + 1);
    nodes[node].push_back(rank);
  }
  return nodes;
}

std::vector<int> NodeOrder(const Topology& topology) {
  std::vector<int> order;
  for (const auto& ranks : RanksByNode(topology)) {
    order.insert(order.end(), ranks.begin(), ranks.end());
  }
  return order;
}

int PositionOf(int rank, const std::vector<int>& ranks) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}

int FloorPowerOfTwo(int n) {
  int power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

}  // namespace gf
