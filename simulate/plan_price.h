#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulate/cluster.pb.h"
#include "simulate/network.h"
#include "simulate/rounds.h"

namespace gf {

// What a plan costs on a network, for vectors of any length.
//
// Note [Price of a plan]
// seconds(bytes) = call + latency + bytes * (busy + (in_rounds - busy) / segments).
// latency: the longest chain of messages that wait for each other, each costing the protocol's hop
// and the latencies of its links. in_rounds: rounds one after the other, each as long as its
// busiest link. busy: the link that is busiest in the whole plan. One segment takes in_rounds; as
// the executor sends segments one behind the other, different rounds share the links at the same
// time and the busiest link is what remains (a pipeline fills once). In a ring both are equal.
struct PlanPrice {
  std::vector<double> latency_s;   // by protocol
  double in_rounds = 0, busy = 0;  // seconds per byte of the vector
  double largest = 0;              // message, as a share of the vector
  // Bytes through the busiest link of each kind, per byte of the vector.
  std::array<double, kLinkKinds> traffic = {};
};

PlanPrice PriceOf(const PlanRounds& rounds, const Network& network,
                  const CollectiveConfig& collective);

// Prices of the product's collectives on the first `world` devices of a cluster. Plans are made
// when first asked for. Not for several threads.
class Pricer {
 public:
  Pricer(const ClusterConfig& cluster, int world);

  const Network& network() const { return network_; }

  // The algorithm that sums a vector of so many bytes: `algorithm` itself, or for "auto" the
  // cheapest of those that fit (without double_tree beyond 1,024 ranks). Throws UserError for an
  // unknown one or one that does not fit.
  std::string Choose(const std::string& algorithm, int64_t bytes);
  // An allreduce; `algorithm` as chosen.
  double Seconds(const std::string& algorithm, int64_t bytes);
  const PlanPrice& Price(const std::string& algorithm);
  double Seconds(const PlanPrice& price, int64_t bytes) const;
  // See ProtocolConfig.rate_lost.
  double RateLost(int64_t bytes) const;

  // The halves of a ring of all ranks, for the sharded update.
  static constexpr char kReduceScatter[] = "reduce-scatter", kAllGather[] = "allgather";

 private:
  int ProtocolOf(int64_t bytes) const;
  // For "auto".
  std::vector<std::string> Candidates() const;

  const CollectiveConfig collective_;
  const Network network_;
  std::map<std::string, PlanPrice> prices_;
  std::vector<std::string> candidates_;
};

}  // namespace gf
