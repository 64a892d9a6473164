#include <vector>

#include "comm/algorithms/placement.h"
#include "comm/algorithms/ring.h"

namespace gf {
namespace {

// The ranks in a grid; order[row * columns + column].
struct Grid {
  std::vector<int> order;
  int rows = 1, columns = 1;
};

// One node per row where several nodes have equally many ranks (more than one), else as square as
// can be.
Grid MakeGrid(const Topology& topology) {
  Grid grid;
  grid.order = NodeOrder(topology);
  const auto nodes = RanksByNode(topology);
  bool equal = nodes.size() > 1 && nodes[0].size() > 1;
  for (const auto& ranks : nodes) equal = equal && ranks.size() == nodes[0].size();
  if (equal) {
    grid.rows = static_cast<int>(nodes.size());
  } else {
    for (int rows = 1; rows * rows <= topology.world(); ++rows) {
      if (topology.world() % rows == 0) grid.rows = rows;
    }
  }
  grid.columns = topology.world() / grid.rows;
  return grid;
}

// Ranks in a grid: reduce-scatter along the rows, allreduce of each rank's share along its column,
// all-gather along the rows (Mikami et al., "Massively distributed SGD: ImageNet/ResNet-50 training
// in a flash", arXiv 1811.05233). Every leg is a ring.
class Torus : public Algorithm {
 public:
  bool Fits(const Topology& topology) const override {
    const Grid grid = MakeGrid(topology);
    return grid.rows > 1 && grid.columns > 1;
  }

  Plan AllReduce(int rank, const Topology& topology) const override {
    const Grid grid = MakeGrid(topology);
    const int at = PositionOf(rank, grid.order);
    const int row = at / grid.columns, column = at % grid.columns;
    std::vector<int> row_ranks, column_ranks;
    for (int c = 0; c < grid.columns; ++c) {
      row_ranks.push_back(grid.order[row * grid.columns + c]);
    }
    for (int r = 0; r < grid.rows; ++r) {
      column_ranks.push_back(grid.order[r * grid.columns + column]);
    }
    const Ring along_row = MakeRing(row_ranks, /*width=*/grid.rows);
    const Ring along_column = MakeRing(column_ranks, 1, along_row.shares[column].begin);

    Plan plan;
    plan.parts = topology.world();
    AppendReduceScatter(along_row, column, &plan.steps);
    AppendReduceScatter(along_column, row, &plan.steps);
    AppendAllGather(along_column, row, &plan.steps);
    AppendAllGather(along_row, column, &plan.steps);
    return plan;
  }
};

GF_REGISTER(AlgorithmRegistry, "torus", Torus);

}  // namespace
}  // namespace gf
