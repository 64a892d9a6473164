#include "simulate/plan_price.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/readable.h"

namespace gf {
namespace {

constexpr double kMicro = 1e-6;
// Planning one rank of a double tree requires the rounds of all ranks' messages, which takes 15
// seconds for 4,096 ranks. For more ranks than this, "auto" does not consider double_tree.
constexpr int kMostRanksOfTrees = 1024;

// Loads of the links of the first `ranks` ranks, which stand for all others. Only links with a load
// are visited.
class Loads {
 public:
  Loads(const Network& network, int ranks) : network_(network), parts_(network.LinksOf(ranks)) {}

  void Add(int link, double parts) {
    link %= static_cast<int>(parts_.size());
    if (parts_[link] == 0) touched_.push_back(link);
    parts_[link] += parts;
  }

  // Time of the busiest link in seconds per byte of the vector, where the vector has `parts` parts.
  double Busiest(int parts) const {
    double most = 0;
    for (int link : touched_) {
      most = std::max(most, parts_[link] * network_.SecondsPerByte(link));
    }
    return most / parts;
  }

  std::array<double, kLinkKinds> ByKind(int parts) const {
    std::array<double, kLinkKinds> most = {};
    for (int link : touched_) {
      double& kind = most[static_cast<int>(network_.KindOf(link))];
      kind = std::max(kind, parts_[link] / parts);
    }
    return most;
  }

  void Clear() {
    for (int link : touched_) parts_[link] = 0;
    touched_.clear();
  }

 private:
  const Network& network_;
  std::vector<double> parts_;
  std::vector<int> touched_;
};

// The longest chain of messages: a rank sends after it has received its earlier messages. An early
// message waits at the receiver, so each slow hop of a ring counts once, not in every step.
double Chain(const PlanRounds& rounds, const Network& network, double hop_s) {
  std::vector<double> now(rounds.period), next;
  std::vector<int> path;
  for (const PlanRound& round : rounds.rounds) {
    std::vector<double> cost;
    for (const PlanMessage& message : round.messages) {
      network.Path(message.from, message.to, message.reduce, &path);
      double latency = hop_s;
      for (int link : path) latency += network.LatencySeconds(link);
      cost.push_back(latency);
    }
    for (int64_t i = 0; i < round.times; ++i) {
      next = now;
      for (size_t m = 0; m < round.messages.size(); ++m) {
        const PlanMessage& message = round.messages[m];
        double& to = next[message.to % rounds.period];
        to = std::max(to, now[message.from] + cost[m]);
      }
      now.swap(next);
    }
  }
  return now.empty() ? 0 : *std::max_element(now.begin(), now.end());
}

}  // namespace

PlanPrice PriceOf(const PlanRounds& rounds, const Network& network,
                  const CollectiveConfig& collective) {
  PlanPrice price;
  for (const ProtocolConfig& protocol : collective.protocol()) {
    price.latency_s.push_back(Chain(rounds, network, protocol.hop_us() * kMicro));
  }
  Loads round_loads(network, rounds.period), all_loads(network, rounds.period);
  std::vector<int> path;
  for (const PlanRound& round : rounds.rounds) {
    for (const PlanMessage& message : round.messages) {
      network.Path(message.from, message.to, message.reduce, &path);
      for (int link : path) {
        round_loads.Add(link, message.parts);
        all_loads.Add(link, static_cast<double>(message.parts) * static_cast<double>(round.times));
      }
    }
    price.in_rounds += round_loads.Busiest(rounds.parts) * static_cast<double>(round.times);
    round_loads.Clear();
  }
  price.busy = all_loads.Busiest(rounds.parts);
  price.traffic = all_loads.ByKind(rounds.parts);
  price.largest = static_cast<double>(rounds.largest) / rounds.parts;
  return price;
}

Pricer::Pricer(const ClusterConfig& cluster, int world)
    : collective_(cluster.collective()), network_(cluster, world) {}

int Pricer::ProtocolOf(int64_t bytes) const {
  for (int i = 0; i < collective_.protocol_size(); ++i) {
    const ProtocolConfig& protocol = collective_.protocol(i);
    if (!protocol.has_up_to_bytes() || bytes <= protocol.up_to_bytes()) return i;
  }
  return collective_.protocol_size() - 1;
}

const PlanPrice& Pricer::Price(const std::string& algorithm) {
  const auto found = prices_.find(algorithm);
  if (found != prices_.end()) return found->second;
  const int world = network_.world(), period = network_.Period();
  PlanRounds rounds;
  if (algorithm == kReduceScatter) {
    rounds = RoundsOf([&](int rank) { return RingReduceScatter(rank, world); }, world, period);
  } else if (algorithm == kAllGather) {
    rounds = RoundsOf([&](int rank) { return RingAllGather(rank, world); }, world, period);
  } else if (algorithm == kAllToAll) {
    rounds = RoundsOf([&](int rank) { return AllToAll(rank, world); }, world, period);
    rounds.parts = world;  // the plan's other parts are the place of what comes
  } else {
    const auto plan = AlgorithmRegistry::Get().Create("comm.algorithm", algorithm);
    if (world > 1 && !plan->Fits(network_.topology())) {
      ThrowUserError("comm.algorithm: ", algorithm, " does not support ", Counted(world, "rank"),
                     " on ", Counted(network_.nodes(), "node"), "; set auto");
    }
    rounds = RoundsOf([&](int rank) { return plan->AllReduce(rank, network_.topology()); }, world,
                      algorithm == "ring" ? period : world);
  }
  return prices_.emplace(algorithm, PriceOf(rounds, network_, collective_)).first->second;
}

std::string Pricer::Choose(const std::string& algorithm, int64_t bytes) {
  // MPI and NCCL use rings for large vectors.
  if (algorithm == "native" || algorithm == "mpi") return "ring";
  if (algorithm != "auto") return algorithm;
  if (network_.world() == 1) return "ring";
  if (candidates_.empty()) candidates_ = Candidates();
  return *std::min_element(candidates_.begin(), candidates_.end(),
                           [&](const std::string& a, const std::string& b) {
                             return Seconds(a, bytes) < Seconds(b, bytes);
                           });
}

std::vector<std::string> Pricer::Candidates() const {
  std::vector<std::string> names;
  for (const std::string& name : AlgorithmRegistry::Get().Keys()) {
    if (network_.world() > kMostRanksOfTrees && name == "double_tree") continue;
    if (AlgorithmRegistry::Get().Create("algorithm", name)->Fits(network_.topology())) {
      names.push_back(name);
    }
  }
  return names;
}

double Pricer::Seconds(const PlanPrice& price, int64_t bytes) const {
  if (network_.world() == 1 || bytes == 0) return 0;
  const double length = static_cast<double>(bytes);
  const double segments = std::max(
      1.0, std::ceil(length * price.largest / static_cast<double>(collective_.segment_bytes())));
  return collective_.call_us() * kMicro + price.latency_s[ProtocolOf(bytes)] +
         length * (price.busy + std::max(0.0, price.in_rounds - price.busy) / segments);
}

double Pricer::RateLost(int64_t bytes) const {
  return collective_.protocol(ProtocolOf(bytes)).rate_lost();
}

double Pricer::Seconds(const std::string& algorithm, int64_t bytes) {
  return Seconds(Price(algorithm), bytes);
}

}  // namespace gf
