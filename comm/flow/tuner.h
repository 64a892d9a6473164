#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "comm/flow/algorithm_timing.h"
#include "core/config/job.pb.h"

namespace gf {

// Throws UserError unless this is a value of comm.algorithm; `what` names where it stands.
void CheckAlgorithm(const std::string& what, const std::string& name);

// Which algorithm sums vectors of which size: the one that the config names, or (auto) the fastest
// in a short measurement on this job's ranks and network.
//
// Note [Automatic choice]
// At start every algorithm that fits the topology is timed, see Note [Timing algorithms]. Of the
// curves from size to time, the lowest wins; among equals the winner of the next smaller size
// stays. A message takes the winner of the nearest size (as a ratio). All ranks choose alike,
// because the times they compare are agreed. Deterministic jobs do not measure.
class AlgorithmChoice {
 public:
  // The fastest algorithm for messages of about this size, and its seconds.
  struct Winner {
    int64_t bytes;
    std::string algorithm;
    double seconds;
  };

  // `config` has passed CheckComm. Throws UserError if the algorithm does not fit the ranks.
  AlgorithmChoice(const CommConfig& config, bool deterministic, Communicator* comm);

  // Chooses for messages of up to `largest` bytes by measurements, in the types that will travel,
  // by a clock in seconds. Uses earlier measurements of these types where they suffice. Collective;
  // does nothing unless the choice is automatic.
  void Measure(int64_t largest, DType dtype, DType wire, Communicator* comm,
               const std::function<double()>& now = SteadySeconds);

  const std::string& For(int64_t bytes) const;

  // How long a message of `bytes` takes. After Measure of an automatic choice.
  double Seconds(int64_t bytes) const;

  // "ring", or "auto: recursive_doubling to 32 KiB, then ring".
  std::string Describe() const;
  const std::vector<Winner>& winners() const { return winners_; }

 private:
  // The curves of messages of up to `largest` bytes.
  struct Measured {
    int64_t largest = 0;
    AlgorithmTiming::Curves curves;
  };

  bool automatic_ = false;
  std::map<std::pair<DType, DType>, Measured> measured_;  // by the types in memory and on the wire
  std::vector<Winner> winners_;                           // by size
};

}  // namespace gf
