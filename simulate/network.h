#pragma once

#include <array>
#include <string>
#include <vector>

#include "comm/plan.h"
#include "simulate/cluster.pb.h"

namespace gf {

// What messages share, each direction on its own: the classes of links of a cluster.
enum class LinkKind { kDevice, kSwitch, kNic, kUplink, kArithmetic };
constexpr int kLinkKinds = 5;
// "device link", "switch link", "network card", "uplink", "arithmetic"
const char* NameOf(LinkKind kind);

// The links of a cluster's first `world` devices: ranks fill node after node.
class Network {
 public:
  Network(const ClusterConfig& cluster, int world);

  const Topology& topology() const { return topology_; }
  int world() const { return topology_.world(); }
  int nodes() const { return nodes_; }
  // Links have the ids 0 .. links() - 1.
  int links() const { return nodes_ * stride_; }
  LinkKind KindOf(int link) const;
  // Of what training leaves of the link.
  double SecondsPerByte(int link) const { return seconds_per_byte_[Index(link)]; }
  double LatencySeconds(int link) const { return latency_s_[Index(link)]; }

  // Sets `links` to what a message passes; `reduce`: the receiver adds it up.
  void Path(int from, int to, bool reduce, std::vector<int>* links) const;

 private:
  int Index(int link) const { return static_cast<int>(KindOf(link)); }
  // Link `at` of a kind of a node; out of it (0) or into it (1).
  int Id(int node, LinkKind kind, int at, int direction) const;
  void ToCard(int rank, int direction, std::vector<int>* links) const;

  Topology topology_;
  int nodes_ = 1, stride_ = 1, leaf_ = 0;
  int devices_ = 1, switches_ = 1, nics_ = 1;
  std::array<int, kLinkKinds + 1> first_ = {};  // of a kind, within a node
  std::array<double, kLinkKinds> seconds_per_byte_ = {}, latency_s_ = {};
};

}  // namespace gf
