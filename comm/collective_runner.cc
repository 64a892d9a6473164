#include "comm/collective_runner.h"

#include <algorithm>

namespace gf {

Topology TopologyOf(const std::vector<std::string>& hosts) {
  Topology topology;
  std::vector<std::string> seen;
  for (const std::string& host : hosts) {
    const auto it = std::find(seen.begin(), seen.end(), host);
    topology.node.push_back(static_cast<int>(it - seen.begin()));
    if (it == seen.end()) seen.push_back(host);
  }
  return topology;
}

CollectiveRunner::CollectiveRunner(Transport* transport, const std::vector<std::string>& hosts)
    : transport_(transport), topology_(TopologyOf(hosts)), executor_(transport) {}

const Plan& CollectiveRunner::PlanFor(const Collective& collective) {
  const int rank = transport_->rank(), world = transport_->size();
  const bool whole = collective.kind == Collective::kAllReduce;
  const std::string name = whole                                           ? collective.algorithm
                           : collective.kind == Collective::kReduceScatter ? "reduce-scatter"
                                                                           : "all-gather";
  const auto it = plans_.find(name);
  if (it != plans_.end()) return it->second;
  Plan plan;
  if (whole) {
    const auto algorithm = AlgorithmRegistry::Get().Create("comm.algorithm", name);
    plan = algorithm->AllReduce(rank, topology_);
  } else if (collective.kind == Collective::kReduceScatter) {
    plan = RingReduceScatter(rank, world);
  } else {
    plan = RingAllGather(rank, world);
  }
  return plans_.emplace(name, std::move(plan)).first->second;
}

void CollectiveRunner::Run(const Collective& collective, const std::string& operation) {
  executor_.Run(PlanFor(collective), collective, operation);
}

}  // namespace gf
