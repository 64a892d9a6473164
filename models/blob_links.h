#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/graph.h"

namespace gf {

// Whether a layer can be merged into another one: nothing except its type matters.
bool CanVanish(const LayerParameter& p);

// Who writes and who reads each blob of a graph that is being rewritten. Constant work per
// question and change, so that rewriting takes time in proportion to the layers.
class BlobLinks {
 public:
  // `nodes` must outlive this object; only Change and Remove may change them.
  explicit BlobLinks(std::vector<GraphNode>* nodes);

  int size() const { return static_cast<int>(nodes_.size()); }
  const LayerParameter& operator[](int i) const { return nodes_[i].param; }
  const GraphNode& node(int i) const { return nodes_[i]; }
  bool removed(int i) const { return removed_[i]; }

  // The only layer that reads a blob, if it reads the blob once; otherwise -1.
  int OnlyReader(const std::string& blob) const;
  // The layer that writes a blob, or -1.
  int Producer(const std::string& blob) const;
  // All layers that read a blob, once per reading bottom, in order.
  std::vector<int> Readers(const std::string& blob) const;

  template <typename Body>
  void Change(int i, const Body& body) {
    Unlink(i);
    body(&nodes_[i]);
    Link(i);
  }
  // The node keeps its number until Compact.
  void Remove(int i);
  // Erases what was removed; the last call.
  void Compact();

 private:
  void Link(int i);
  void Unlink(int i);

  std::vector<GraphNode>& nodes_;
  std::vector<bool> removed_;
  std::map<std::string, std::multiset<int>> readers_;
  std::map<std::string, int> producers_;
};

}  // namespace gf
