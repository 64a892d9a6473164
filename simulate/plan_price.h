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

// Cost of a plan on a network, for vectors of any length.
//
// Note [Price of a plan]
// seconds(bytes) = call + latency + bytes * (busy + (in_rounds - busy) / segments). latency: the
// longest chain of dependent messages; each costs the protocol's hop and the latencies of its
// links. in_rounds: the rounds one after the other, each as long as its busiest link. busy: the
// busiest link of the whole plan. One segment takes in_rounds. The executor pipelines segments, so
// different rounds use the links at the same time, and with many segments only the busiest link
// counts (the pipeline fills once). In a ring both are equal.
struct PlanPrice {
  std::vector<double> latency_s;   // by protocol
  double in_rounds = 0, busy = 0;  // seconds per byte of the vector
  double largest = 0;              // largest message, as a fraction of the vector
  // Bytes through the busiest link of each kind per byte of the vector.
  std::array<double, kLinkKinds> traffic = {};
};

PlanPrice PriceOf(const PlanRounds& rounds, const Network& network,
                  const CollectiveConfig& collective);

// Prices the product's collectives on the first `world` devices of a cluster. Makes each plan at
// its first use. Not thread-safe.
class Pricer {
 public:
  Pricer(const ClusterConfig& cluster, int world);

  const Network& network() const { return network_; }

  // The algorithm for a vector of `bytes` bytes: `algorithm` itself, or for "auto" the cheapest one
  // that supports this number of ranks (double_tree up to 1,024 ranks). Throws UserError for an
  // algorithm that is unknown or does not support it.
  std::string Choose(const std::string& algorithm, int64_t bytes);
  // Seconds of an allreduce; `algorithm` is a result of Choose.
  double Seconds(const std::string& algorithm, int64_t bytes);
  const PlanPrice& Price(const std::string& algorithm);
  double Seconds(const PlanPrice& price, int64_t bytes) const;
  // See ProtocolConfig.rate_lost.
  double RateLost(int64_t bytes) const;

  // The two halves of a ring allreduce, for the sharded update.
  static constexpr char kReduceScatter[] = "reduce-scatter", kAllGather[] = "allgather";
  // Every rank sends part p of its vector to rank p. The vector whose bytes are priced is what a
  // rank has for others and for itself; the parts that it receives are another one.
  static constexpr char kAllToAll[] = "all-to-all";

 private:
  int ProtocolOf(int64_t bytes) const;
  // The algorithms that "auto" considers.
  std::vector<std::string> Candidates() const;

  const CollectiveConfig collective_;
  const Network network_;
  std::map<std::string, PlanPrice> prices_;
  std::vector<std::string> candidates_;
};

}  // namespace gf
