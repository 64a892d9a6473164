#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/choice/arithmetic_probe.h"
#include "comm/choice/ladder.h"
#include "comm/choice/measured_costs.h"
#include "comm/choice/step_notes.h"
#include "comm/communicator.h"
#include "comm/flow/exchange_choice.h"
#include "comm/flow/gradient_flow_options.h"
#include "comm/flow/gradient_transport.h"
#include "comm/price/bucket_schedule.h"
#include "comm/price/step.h"
#include "core/pool_layout.h"
#include "core/tensor.h"

namespace gf {

// The job whose steps are priced. All it refers to outlives the pricer.
struct PricedJob {
  const PoolLayout& layout;
  Tensor gradients;  // a pool in the host's memory, with values of a real step
  const GradientFlowOptions& options;
  const GradientTransport* transport;  // has measured if comm.algorithm is "auto"
  Communicator* comm;
  int64_t largest;  // elements of LAZY's longest bucket
};

// Prices the rungs of a ladder by the same schedules and the same model of a step as the simulator
// (comm/price/), with measured times: of compute, of collectives on these links, and of each
// compressor's arithmetic on this rank.
class LadderPricer {
 public:
  explicit LadderPricer(const PricedJob& job) : job_(job) {}

  // The figures and obstacles of all rungs; the same on all ranks, but for their own important
  // chunks. `noted`: the name of the rung by which the steps of `facts` exchanged; `lazy`: the rung
  // of LAZY in the gradients' type. Collective.
  ExchangeChoice Price(const std::vector<Rung>& ladder, const Rung& lazy, const std::string& noted,
                       const StepFacts& facts);

 private:
  DType WireOf(const CommConfig& config) const;
  BucketSchedule ScheduleFor(const CommConfig& config, const std::vector<int64_t>& important) const;
  void PriceThresholds(const CommConfig& config, const ProbedCompressor& probed, StepSetup* setup,
                       MeasuredCosts* costs, PricedRung* rung) const;
  std::optional<ProbedCompressor> AgreeOnArithmetic(const Rung& rung, std::string* refusal) const;

  const PricedJob job_;
};

}  // namespace gf
