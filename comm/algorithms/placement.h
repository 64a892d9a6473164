#pragma once

#include <vector>

#include "comm/plan.h"

namespace gf {

// The ranks of each node, ascending.
std::vector<std::vector<int>> RanksByNode(const Topology& topology);

// All ranks, those of a node next to each other: by node, then by rank.
std::vector<int> NodeOrder(const Topology& topology);

// Where `rank` is in `ranks`, or -1.
int PositionOf(int rank, const std::vector<int>& ranks);

// The largest power of two <= n, for n >= 1.
int FloorPowerOfTwo(int n);

}  // namespace gf
