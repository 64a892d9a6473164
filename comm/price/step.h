#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/price/bucket_schedule.h"
#include "comm/price/collective_costs.h"
#include "core/pool_layout.h"

namespace gf {

// Seconds of the compute of a step on one device, without communication.
struct StepCompute {
  // A part of backward, and the pool entries whose gradients are ready at its end.
  struct Piece {
    double seconds = 0;
    std::vector<int> entries;
  };

  double data = 0, forward = 0;  // preparation of images; the rest before backward
  std::vector<Piece> backward;   // in its order; every entry once
  // A step adds up the gradients of this many batches, each with these times. Only their sum
  // travels, during the last batch's backward pass.
  int batches = 1;
};

// Memory traffic in bytes per element, of updates, of SPARSE for gradients that it does not send
// (FP32 weights, momentum and residuals; gradients in the compute type) and for weights that are
// ahead by these (0: none are), of error feedback, of TOPK, of LOW_RANK's phases, and of QUANTIZED
// without its codes (BucketSchedule.code_bytes): of encoding, of decoding, and of keeping what a
// sum has lost, which a rank does for its part only. `add`, `merge`: of adding the gradients of a
// batch to the sum of a step's batches, and of merging this sum into the gradients of the last one.
struct UpdateTraffic {
  double update = 0, keep = 0, ahead = 0, pack = 0, round = 0, accumulate = 0;
  double project = 0, correlate = 0, expand = 0;
  double encode = 0, decode = 0, keep_lost = 0;
  double add = 0, merge = 0;
};

// Measured seconds of a compressor's arithmetic in a step, in place of UpdateTraffic's bytes.
struct CompressorSeconds {
  double before = 0;  // as gradients become ready
  double sum = 0;     // in the middle of encoded sums
  double after = 0;   // as the collectives arrive, of all but the last one of a schedule with one
  double last = 0;    // after the last one, which depends on all others
};

// The constants of all steps.
struct StepSetup {
  const PoolLayout* layout = nullptr;
  StepCompute compute;
  UpdateTraffic traffic;
  double memory_bytes_per_s = 0;
  double compressor_bytes_per_s = 0;  // of compressors' arithmetic; 0: as memory
  // If set, replaces the traffic of compressors. Updates and weights that are ahead still count.
  std::optional<CompressorSeconds> measured;
  int64_t wire_bytes = 4;  // bytes per element on the wire
  bool waits_for_layer = false;
  bool update_waits = false;  // no parameter is updated before all sums have come
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
  std::vector<Span> spans;                          // of the slowest rank, if asked for
  std::vector<double> forward_ends, backward_ends;  // by rank, likewise
};

// Note [A priced step]
// The compute time of a rank is factors[rank] times the nominal time. Collectives run one after the
// other, as in the product. A collective begins when the previous one has ended and its gradients
// are ready on all ranks. If the cluster sets waits_for_layer, it also waits until every rank has
// completed its current layer with parameters, because the product is called only then; ranks that
// are out of step delay it further. While a collective overlaps compute, compute is slowed by
// compute_lost and the collective by its protocol's rate_lost. After backward, the step waits for
// each collective in order and updates its parameters. A sharded update then sends the new weights,
// and the step ends when all have arrived.
//
// `factors`: one per rank. `costs`: of the collectives among them.
StepResult PriceStep(const StepSetup& setup, const BucketSchedule& schedule,
                     const std::vector<double>& factors, CollectiveCosts* costs,
                     bool spans = false);

}  // namespace gf
