#include <vector>

#include "comm/algorithms/placement.h"
#include "comm/algorithms/rounds.h"

namespace gf {
namespace {

// A binary tree over positions 1 .. size, numbered in order: odd positions are leaves, even ones
// have children. parent[0] is unused, the root's parent is 0. bottom_up lists children before their
// parents.
struct Tree {
  std::vector<int> parent, bottom_up;

  explicit Tree(int size) : parent(size + 1) { Grow(0, size, 0); }

 private:
  // The positions offset + 1 .. offset + size under `above`. The root stands on a power of two, so
  // that offsets remain even wherever there is more than one position.
  void Grow(int offset, int size, int above) {
    if (size == 0) return;
    const int root = FloorPowerOfTwo(size);
    parent[offset + root] = above;
    Grow(offset, root - 1, offset + root);
    Grow(offset + root, size - root, offset + root);
    bottom_up.push_back(offset + root);
  }
};

// Two binary trees, each of which adds up one half of the vector in its root and spreads the sum
// (Sanders, Speck and Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", Parallel Computing 35, 2009). Ranks with children in one tree are leaves of the other, so
// that all links carry the same load.
class DoubleTree : public Algorithm {
 public:
  Plan AllReduce(int rank, const Topology& topology) const override {
    const std::vector<int> order = NodeOrder(topology);
    const Tree tree(topology.world());
    std::vector<Message> messages;
    AddTree(tree, order, 0, &messages);
    AddTree(tree, Complement(order), 1, &messages);
    Plan plan;
    plan.parts = 2;
    plan.steps = StepsInRounds(messages, rank);
    return plan;
  }

 private:
  // Brings ranks from even positions to odd ones: an even number of them mirrored, an odd number
  // turned by one (the last one's position is odd before and after).
  static std::vector<int> Complement(const std::vector<int>& order) {
    if (order.size() % 2 == 0) return {order.rbegin(), order.rend()};
    std::vector<int> turned = {order.back()};
    turned.insert(turned.end(), order.begin(), order.end() - 1);
    return turned;
  }

  // ranks[p - 1] is at position p.
  static void AddTree(const Tree& tree, const std::vector<int>& ranks, int part,
                      std::vector<Message>* messages) {
    const PartRange range = {part, part + 1};
    std::vector<std::vector<int>> arriving(tree.parent.size());  // by position
    const auto add = [&](int from, int to, bool reduce) {
      const int index = static_cast<int>(messages->size());
      messages->push_back({ranks[from - 1], ranks[to - 1], range, reduce, arriving[from]});
      arriving[to].push_back(index);
    };
    for (const int position : tree.bottom_up) {
      if (tree.parent[position] != 0) add(position, tree.parent[position], /*reduce=*/true);
    }
    for (auto p = tree.bottom_up.rbegin(); p != tree.bottom_up.rend(); ++p) {
      if (tree.parent[*p] != 0) add(tree.parent[*p], *p, /*reduce=*/false);
    }
  }
};

GF_REGISTER(AlgorithmRegistry, "double_tree", DoubleTree);

}  // namespace
}  // namespace gf
