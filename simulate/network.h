#pragma once

#include <array>
#include <string>
#include <vector>

#include "comm/plan.h"
#include "simulate/cluster.pb.h"

namespace gf {

// Classes of links of a cluster. Messages share a link; its two directions are independent.
enum class LinkKind { kDevice, kSwitch, kNic, kUplink, kArithmetic };
constexpr int kLinkKinds = 5;
// "device link", "switch link", "network card", "uplink", "arithmetic"
const char* NameOf(LinkKind kind);

// The links among the first `world` devices of a cluster. Ranks fill one node after the other.
class Network {
 public:
  Network(const ClusterConfig& cluster, int world);

  const Topology& topology() const { return topology_; }
  int world() const { return topology_.world(); }
  int nodes() const { return nodes_; }
  // The least number of ranks after which the network repeats, ranks being counted around a circle;
  // the world if it does not.
  int Period() const;
  // Number of links; their ids are 0 to links() - 1, the nodes' one after the other. And the links
  // of the nodes of the first `ranks` ranks.
  int links() const { return nodes_ * stride_; }
  int LinksOf(int ranks) const { return (ranks + devices_ - 1) / devices_ * stride_; }
  LinkKind KindOf(int link) const;
  // Inverse of the bandwidth that background traffic leaves to training.
  double SecondsPerByte(int link) const { return seconds_per_byte_[Index(link)]; }
  double LatencySeconds(int link) const { return latency_s_[Index(link)]; }

  // Sets `links` to the links that a message passes; `reduce`: the receiver adds the message to its
  // data.
  void Path(int from, int to, bool reduce, std::vector<int>* links) const;

 private:
  int Index(int link) const { return static_cast<int>(KindOf(link)); }
  // Id of link number `at` of a kind in a node; direction 0 leads out of the node's part, 1 into
  // it.
  int Id(int node, LinkKind kind, int at, int direction) const;
  void ToCard(int rank, int direction, std::vector<int>* links) const;

  Topology topology_;
  int nodes_ = 1, stride_ = 1, leaf_ = 0;
  int devices_ = 1, switches_ = 1, nics_ = 1;
  std::array<int, kLinkKinds + 1> first_ = {};  // first id of each kind within a node
  std::array<double, kLinkKinds> seconds_per_byte_ = {}, latency_s_ = {};
};

}  // namespace gf
