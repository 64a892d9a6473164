#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/estimate/gpu.h"
#include "core/pool_layout.h"
#include "core/shape.h"
#include "simulate/cluster.pb.h"

namespace gf {

// A layer of a network as a step sees it.
struct LayerModel {
  std::string name, type;
  std::vector<int> entries;   // its parameters in the pool
  int64_t forward_flops = 0;  // of a batch; a multiply-add counts as two
  int64_t values = 0;         // that it writes, of a batch
};

// A training network without its memory: shapes, parameters, work.
struct NetModel {
  std::string name;
  int batch = 1;
  PoolLayout layout;
  std::vector<LayerModel> layers;  // in the order of forward
};

// Derives it for batches of images of shape C, H, W (empty: the net must say). Throws UserError for
// whatever is wrong with the net.
NetModel ModelOf(const NetSource& source, int batch, const Shape& image);

// Seconds of a step of one device that exchanges nothing.
struct ComputeTimes {
  std::vector<double> forward, backward;  // by layer of the model
  double update = 0;                      // of all parameters
  double other = 0;                       // neither: preparing images
  double step() const;
};

// How parameters are updated, and how SPARSE keeps what it does not send, in bytes of memory
// traffic per element (FP32 weights, momentum and residuals; gradients in the compute type).
struct UpdateTraffic {
  double update = 0, keep = 0, pack = 0;
};
UpdateTraffic TrafficOf(const SolverConfig& solver, ComputeType compute);

// A rate of the cluster's device gives the length of the step, the profile (may be null) its
// shares; without one, FLOPs and bytes do. Throws UserError if there is neither rate nor profile
// for the net, or if the profile does not fit it. The rate of the nearest batch counts.
ComputeTimes TimesOf(const NetModel& net, const AcceleratorConfig& device,
                     const ProfileConfig* profile, ComputeType compute,
                     const UpdateTraffic& traffic);

// The times of the job's net on a GPU on paper (solvers/estimate/step_estimate.h), at the shares of
// its rates that are assumed to be reached. `image`: as ModelOf. Throws UserError if the GPU lacks
// the compute type.
ComputeTimes EstimatedTimes(const NetModel& net, const NetSource& source, const Shape& image,
                            const JobConfig& config, const Gpu& gpu, const UpdateTraffic& traffic);
// Bytes/s of its memory that updates are assumed to reach.
double MemoryRateOf(const Gpu& gpu);

}  // namespace gf
