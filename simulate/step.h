#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/bucket_schedule.h"
#include "simulate/net_model.h"
#include "simulate/plan_price.h"

namespace gf {

// The constants of all steps.
struct StepSetup {
  const NetModel* net = nullptr;
  ComputeTimes times;
  UpdateTraffic traffic;
  double memory_bytes_per_s = 0;
  int64_t wire_bytes = 4;  // bytes per element on the wire
  std::string algorithm = "auto";
  bool waits_for_layer = false;
  double compute_lost = 0;
  double load_s = 0;  // seconds in which a node loads the images of a step
};

// Parts of the time of a step on the slowest rank, in seconds. They add up to `total`.
struct StepParts {
  double forward = 0, backward = 0, exposed = 0, update = 0, data = 0;
  double total() const { return forward + backward + exposed + update + data; }
};

// An activity, in seconds from the start of the step.
struct Span {
  std::string lane, name;  // see core/telemetry/timeline.h
  double begin = 0, end = 0;
  int64_t bytes = 0;  // for transfers
};

struct StepResult {
  StepParts parts;
  double communication = 0;                         // seconds in which a collective ran
  int64_t sent_bytes = 0;                           // length of all vectors on the wire, by halves
  std::array<double, kLinkKinds> traffic = {};      // bytes through the busiest link of each kind
  std::vector<Span> spans;                          // of the slowest rank, if asked for
  std::vector<double> forward_ends, backward_ends;  // by rank, likewise
};

// Note [A simulated step]
// The compute time of a rank is factors[rank] times the nominal time. Collectives run one after the
// other, as in the product. A collective begins when the previous one has ended and its gradients
// are ready on all ranks. If the cluster sets waits_for_layer, it also waits until every rank has
// completed its current layer with parameters, because the product is called only then; ranks that
// are out of step delay it further. While a collective overlaps compute, compute is slowed by
// compute_lost and the collective by its protocol's rate_lost. After backward, the step waits for
// each collective in order and updates its parameters. A sharded update then sends the new weights,
// and the step ends when all have arrived.
//
// `factors`: one per rank.
StepResult SimulateStep(const StepSetup& setup, const BucketSchedule& schedule,
                        const std::vector<double>& factors, Pricer* pricer, bool spans = false);

// Compute factors of the ranks in a step: normally distributed with mean 1 and standard deviation
// `jitter`, at least 0.5. A pure function of its arguments.
std::vector<double> JitterOf(double jitter, int world, uint64_t seed, int64_t step);

}  // namespace gf
