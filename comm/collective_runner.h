#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective.h"
#include "comm/executor.h"
#include "comm/plan.h"

namespace gf {

// Collectives by plans over a transport.
class CollectiveRunner {
 public:
  CollectiveRunner(Transport* transport, const std::vector<std::string>& hosts);

  const Topology& topology() const { return topology_; }

  // Anything but the algorithm "native". Throws UserError for an unknown algorithm, CommError.
  void Run(const Collective& collective, const std::string& operation);

 private:
  struct SizedPlan {
    Plan plan;
    int largest = 1;  // parts in the largest message of any rank
  };

  const SizedPlan& PlanFor(const Collective& collective);
  void RunEncodedSum(const Collective& collective, const std::string& operation);

  Transport* const transport_;
  Topology topology_;
  Executor executor_;
  std::map<std::string, SizedPlan> plans_;
};

// The topology of ranks on these hosts (host names by rank).
Topology TopologyOf(const std::vector<std::string>& hosts);

}  // namespace gf
