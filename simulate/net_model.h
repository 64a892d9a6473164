#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/price/step.h"
#include "core/config/config.h"
#include "core/config/places.h"
#include "core/estimate/gpu.h"
#include "core/pool_layout.h"
#include "core/shape.h"
#include "simulate/cluster.pb.h"

namespace gf {

// A layer of a network, reduced to the properties that determine a step.
struct LayerModel {
  std::string name, type;
  std::vector<int> entries;   // pool entries of its trained parameters
  int64_t forward_flops = 0;  // per batch; a multiply-add counts as two
  int64_t values = 0;         // number of values that it writes per batch
  double backward = 1;        // the part of its backward pass that frozen parameters leave
};

// A training network without its memory: shapes, parameters, work.
struct NetModel {
  std::string name;
  int batch = 1;
  int64_t pixels = 0;              // of an image; 0 = the data do not say
  PoolLayout layout;               // of the trained parameters
  std::vector<LayerModel> layers;  // in the order of forward
};

// Derives the model for batches of images with shape C, H, W (empty: the net must state the shape).
// `freeze`: patterns of the parameters that are not trained (NetOptions::freeze). `labels`: what
// inputs of labels hold (null: as the net says). Throws UserError for mistakes in the net or the
// patterns.
NetModel ModelOf(const NetSource& source, int batch, const Shape& image,
                 const std::vector<std::string>& freeze = {}, const LabelConfig* labels = nullptr,
                 Phase phase = TRAIN);

// Seconds of a step of a single device, without communication.
struct ComputeTimes {
  std::vector<double> forward, backward;  // by layer of the model
  double update = 0;                      // update of all parameters
  double other = 0;                       // preparation of images
  std::string guess;  // what was guessed, where and how to state it; empty = nothing
  double step() const;
};

// The passes that a profile gives, stretched from its batch to the net's; update and other are 0. A
// layer that the profile leaves out takes no time. Throws UserError if the profile does not fit the
// net.
ComputeTimes PassesOf(const NetModel& net, const ProfileConfig& profile);

// Of a solver and a compute type.
UpdateTraffic TrafficOf(const SolverConfig& solver, ComputeType compute);

// Adds the products of matrices that an update takes (UpdateFlops), as bytes that take as long.
// flops_per_s: 0 if it is unknown; throws UserError if there are products then.
void AddProducts(const SolverConfig& solver, const PoolLayout& layout, double flops_per_s,
                 double memory_bytes_per_s, UpdateTraffic* traffic);

// The traffic where weights are ahead of the solver's (StepsAhead), or are not.
UpdateTraffic TrafficWith(UpdateTraffic traffic, ComputeType compute, bool steps_ahead);

// Computes the times of a step. The device's rate for the nearest batch size gives the length of
// the step; the profile, or FLOPs and bytes if it is null, divide it among layers. A rate of BF16
// or FP16 serves the other one; without any rate and without a profile, FLOPs and bytes give the
// length, too. `guess` tells about both; `places` are those of the cluster's file. Throws UserError
// if the profile does not fit the net, or FLOPs cannot be priced.
ComputeTimes TimesOf(const NetModel& net, const AcceleratorConfig& device,
                     const ProfileConfig* profile, ComputeType compute,
                     const UpdateTraffic& traffic, const Places& places = Places());

// Takes from `times`, those of the net as if it trained all parameters, what frozen parameters
// save: no layer below the lowest trained parameter runs backward, the layer with that parameter
// computes no gradient of its input, and frozen parameters are not updated.
void LeaveFrozenOut(const NetModel& net, const UpdateTraffic& traffic, double memory_bytes_per_s,
                    ComputeTimes* times);

// Stretches the times of the net `from` to the net `to`, which differs in the size of its images,
// its batch or its phase. Layers take time in proportion to their FLOPs, layers without products in
// proportion to their values, and `other` in proportion to the pixels. Layers that `from` lacks
// take none.
ComputeTimes StretchedTimes(const ComputeTimes& times, const NetModel& from, const NetModel& to);

// Estimates the times of the job's net on a GPU (solvers/estimate/step_estimate.h), at the assumed
// fractions of its rates. `net`: of this phase. `image`: as in ModelOf. Throws UserError if the GPU
// does not support the compute type.
ComputeTimes EstimatedTimes(const NetModel& net, const NetSource& source, const Shape& image,
                            const JobConfig& config, const Gpu& gpu, const UpdateTraffic& traffic,
                            Phase phase = TRAIN);
// Assumed memory bandwidth of updates, in bytes/s.
double MemoryRateOf(const Gpu& gpu);
// Assumed FLOP/s of an update's products of matrices.
double ProductRateOf(const Gpu& gpu, ComputeType compute);

}  // namespace gf
