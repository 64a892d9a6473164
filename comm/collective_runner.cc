#include "comm/collective_runner.h"

#include <glog/logging.h>

#include <algorithm>

#include "core/error.h"

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

const CollectiveRunner::SizedPlan& CollectiveRunner::PlanFor(const Collective& collective) {
  const int rank = transport_->rank(), world = transport_->size();
  const bool whole = collective.kind == Collective::kAllReduce;
  const bool transfer = collective.kind == Collective::kTransfer;
  const std::string name = whole      ? collective.algorithm
                           : transfer ? StrCat("transfer ", collective.from, " ", collective.to)
                                      : StrCat(NameOf(collective.kind), " ", collective.group);
  const auto it = plans_.find(name);
  if (it != plans_.end()) return it->second;
  SizedPlan sized;
  if (whole) {
    const auto algorithm = AlgorithmRegistry::Get().Create("comm.algorithm", name);
    for (int r = 0; r < world; ++r) {
      Plan plan = algorithm->AllReduce(r, topology_);
      for (const PlanStep& step : plan.steps) {
        sized.largest = std::max({sized.largest, step.send.end - step.send.begin,
                                  step.receive.end - step.receive.begin});
      }
      if (r == rank) sized.plan = std::move(plan);
    }
  } else if (transfer) {
    PlanStep step;
    step.send = step.receive = {0, 1};
    if (rank == collective.from) step.send_to = collective.to;
    if (rank == collective.to) step.receive_from = collective.from;
    if (step.send_to >= 0 || step.receive_from >= 0) sized.plan.steps = {step};
  } else if (collective.kind == Collective::kEncodedSum) {
    sized.plan = AllToAll(rank, world);
  } else if (collective.kind == Collective::kReduceScatter) {
    sized.plan = RingReduceScatter(rank, world);
  } else {
    const int members = collective.group > 0 ? collective.group : world;
    const int first = rank / members * members;
    sized.plan = RingAllGather(rank - first, members);
    for (PlanStep& step : sized.plan.steps) {
      if (step.send_to >= 0) step.send_to += first;
      if (step.receive_from >= 0) step.receive_from += first;
    }
  }
  return plans_.emplace(name, std::move(sized)).first->second;
}

void CollectiveRunner::RunEncodedSum(const Collective& collective, const std::string& operation) {
  CHECK(collective.dtype == DType::kFP32 && collective.wire == DType::kFP32) << operation;
  CHECK_EQ(collective.count % (2 * transport_->size()), 0) << operation;
  const SizedPlan& sized = PlanFor(collective);
  executor_.Run(sized.plan, sized.largest, collective, operation);
  collective.sum->OnHost(static_cast<float*>(collective.data));
  Collective sums = collective;
  sums.kind = Collective::kAllGather;
  sums.count = collective.count / 2;
  Run(sums, operation);
}

void CollectiveRunner::Run(const Collective& collective, const std::string& operation) {
  if (collective.kind == Collective::kEncodedSum) return RunEncodedSum(collective, operation);
  const SizedPlan& sized = PlanFor(collective);
  executor_.Run(sized.plan, sized.largest, collective, operation);
}

}  // namespace gf
