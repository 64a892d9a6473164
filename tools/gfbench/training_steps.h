#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/flow/gradient_flow.h"
#include "comm/flow/gradient_transport.h"
#include "core/device.h"
#include "solvers/solver.h"
#include "solvers/train/step_ahead.h"
#include "solvers/updated_parameters.h"
#include "tools/gfbench/workload.h"

namespace gf {

// Seconds and bytes of a step, the largest of all ranks. `finish`: what follows backward, `bytes`:
// CommStats::wire_bytes.
struct StepTimes {
  double step = 0, forward = 0, backward = 0, finish = 0;
  double exposed = 0, transfer = 0, arithmetic = 0, bytes = 0;
};

// Training steps of all ranks on one workload, with SGD, for one exchange of gradients after
// another.
class TrainingSteps {
 public:
  // All outlive the object.
  TrainingSteps(Workload* workload, Device* device, Communicator* comm);

  // From now on gradients are exchanged like this, without warm-ups of compressors; what the
  // exchange before has kept is freed first. `transport`: see GradientFlowOptions. `taken`: what
  // mode AUTO takes, if it has chosen before. Collective. Throws UserError or AgreedError.
  void Exchange(const CommConfig& config, std::shared_ptr<GradientTransport> transport = nullptr,
                const std::string& taken = "");
  // From now on nothing is exchanged.
  void ExchangeNothing();

  // What users should know about an exchange: see ModeAdvice.
  std::vector<std::string> Advice(const CommConfig& config) const;

  // Steps until mode AUTO has chosen, and prints its table; none in other modes. Returns what it
  // has taken: "" in other modes, in a world of one rank and for a net without parameters.
  std::string ChooseExchange();

  // All ranks begin the step together. With PERIODIC these are the steps of a round, and the times
  // are the means.
  StepTimes Step();

  // One line for people about the exchange.
  std::string Describe() const;

 private:
  // A step of this rank.
  StepTimes OneStep();
  void Update(const std::vector<ElementRange>& ranges);

  Workload* const workload_;
  Device* const device_;
  Communicator* const comm_;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<GradientFlow> flow_;        // null: nothing is exchanged
  std::optional<UpdatedParameters> updated_;  // all of them
  std::optional<StepAhead> ahead_;            // for flow_
  int64_t step_ = 0;
  int64_t first_step_ = 0;  // of this exchange
  bool choosing_ = false;   // of mode AUTO
  std::string taken_;       // by mode AUTO
};

}  // namespace gf
