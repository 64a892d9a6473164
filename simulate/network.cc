#include "simulate/network.h"

namespace gf {
namespace {

constexpr double kGiga = 1e9, kMicro = 1e-6;

}  // namespace

const char* NameOf(LinkKind kind) {
  switch (kind) {
    case LinkKind::kDevice:
      return "device link";
    case LinkKind::kSwitch:
      return "switch link";
    case LinkKind::kNic:
      return "network card";
    case LinkKind::kUplink:
      return "uplink";
    default:
      return "arithmetic";
  }
}

Network::Network(const ClusterConfig& cluster, int world)
    : leaf_(cluster.fabric().nodes_per_leaf()),
      devices_(cluster.node().devices()),
      switches_(cluster.node().switches()),
      nics_(cluster.node().nics()) {
  for (int rank = 0; rank < world; ++rank) topology_.node.push_back(rank / devices_);
  nodes_ = (world + devices_ - 1) / devices_;
  const std::array<int, kLinkKinds> counts = {devices_, switches_, nics_, 1, devices_};
  for (int kind = 0; kind < kLinkKinds; ++kind) first_[kind + 1] = first_[kind] + 2 * counts[kind];
  stride_ = first_[kLinkKinds];

  const auto set = [&](LinkKind kind, const LinkConfig& link) {
    if (!link.has_gb_s()) return;
    const int at = static_cast<int>(kind);
    seconds_per_byte_[at] = 1 / ((link.gb_s() - link.background_gb_s()) * kGiga);
    latency_s_[at] = link.latency_us() * kMicro;
  };
  set(LinkKind::kDevice, cluster.node().device_link());
  set(LinkKind::kSwitch, cluster.node().switch_link());
  set(LinkKind::kNic, cluster.node().nic());
  set(LinkKind::kUplink, cluster.fabric().uplink());
  if (cluster.collective().has_reduce_gb_s()) {
    seconds_per_byte_[static_cast<int>(LinkKind::kArithmetic)] =
        1 / (cluster.collective().reduce_gb_s() * kGiga);
  }
}

int Network::Period() const {
  const bool leaves = leaf_ > 0 && nodes_ > leaf_;
  const int period = devices_ * (leaves ? leaf_ : 1);
  return world() % period == 0 ? period : world();
}

LinkKind Network::KindOf(int link) const {
  const int at = link % stride_;
  int kind = 0;
  while (at >= first_[kind + 1]) ++kind;
  return static_cast<LinkKind>(kind);
}

int Network::Id(int node, LinkKind kind, int at, int direction) const {
  return node * stride_ + first_[static_cast<int>(kind)] + 2 * at + direction;
}

void Network::ToCard(int rank, int direction, std::vector<int>* links) const {
  const int node = rank / devices_, device = rank % devices_;
  const int card = device * nics_ / devices_;
  const int own = device * switches_ / devices_, there = card * switches_ / nics_;
  if (own != there) {
    links->push_back(Id(node, LinkKind::kSwitch, own, direction));
    links->push_back(Id(node, LinkKind::kSwitch, there, 1 - direction));
  }
  links->push_back(Id(node, LinkKind::kNic, card, direction));
}

void Network::Path(int from, int to, bool reduce, std::vector<int>* links) const {
  links->clear();
  const int node = from / devices_, other = to / devices_;
  links->push_back(Id(node, LinkKind::kDevice, from % devices_, 0));
  if (node != other) {
    ToCard(from, 0, links);
    if (leaf_ > 0 && node / leaf_ != other / leaf_) {
      links->push_back(Id(node, LinkKind::kUplink, 0, 0));
      links->push_back(Id(other, LinkKind::kUplink, 0, 1));
    }
    ToCard(to, 1, links);
  } else {
    const int a = from % devices_ * switches_ / devices_, b = to % devices_ * switches_ / devices_;
    if (a != b) {
      links->push_back(Id(node, LinkKind::kSwitch, a, 0));
      links->push_back(Id(node, LinkKind::kSwitch, b, 1));
    }
  }
  links->push_back(Id(other, LinkKind::kDevice, to % devices_, 1));
  if (reduce) links->push_back(Id(other, LinkKind::kArithmetic, to % devices_, 0));
}

}  // namespace gf
