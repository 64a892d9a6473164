#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/bucket_schedule.h"
#include "simulate/net_model.h"
#include "simulate/plan_price.h"

namespace gf {

// What does not change from step to step.
struct StepSetup {
  const NetModel* net = nullptr;
  ComputeTimes times;
  UpdateTraffic traffic;
  double memory_bytes_per_s = 0;
  int64_t wire_bytes = 4;  // of an element on the wire
  std::string algorithm = "auto";
  bool waits_for_layer = false;
  double compute_lost = 0;
  double load_s = 0;  // that a node needs to load a step's images
};

// Where the time of a step goes, in seconds. Of the slowest rank; the parts add up to `total`.
struct StepParts {
  double forward = 0, backward = 0, exposed = 0, update = 0, data = 0;
  double total() const { return forward + backward + exposed + update + data; }
};

// Something that happens, in seconds from the start of the step.
struct Span {
  std::string lane, name;  // see core/telemetry/timeline.h
  double begin = 0, end = 0;
  int64_t bytes = 0;  // of transfers
};

struct StepResult {
  StepParts parts;
  double communication = 0;                         // seconds in which a collective ran
  int64_t sent_bytes = 0;                           // length of all vectors on the wire
  std::array<double, kLinkKinds> traffic = {};      // bytes through the busiest link of each kind
  std::vector<Span> spans;                          // of the slowest rank, if asked for
  std::vector<double> forward_ends, backward_ends;  // by rank, likewise
};

// Note [A simulated step]
// Every rank computes at its own pace (factors[rank] times the nominal one). Collectives run one
// after the other, as in the product. One begins when the one before is through and its gradients
// are ready on all ranks; if the cluster's collectives wait for layers, it begins when, on every
// rank, a layer with parameters has ended, after which the product is called: ranks that are out of
// step hold it up longer. While a collective runs beside compute, compute is slowed by compute_lost
// and the collective by its protocol's rate_lost. After backward the step takes the sends in order:
// waits for each, updates what it brought. A sharded update sends its new weights at once and ends
// when all have arrived.
//
// `factors`: by rank, world of them.
StepResult SimulateStep(const StepSetup& setup, const BucketSchedule& schedule,
                        const std::vector<double>& factors, Pricer* pricer, bool spans = false);

// Compute factors of a step's ranks: normal with mean 1 and deviation `jitter`, at least 0.5. A
// pure function of its arguments.
std::vector<double> JitterOf(double jitter, int world, uint64_t seed, int64_t step);

}  // namespace gf
