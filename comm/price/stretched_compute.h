#pragma once

#include <vector>

#include "comm/price/bucket_schedule.h"
#include "comm/price/step.h"

namespace gf {

// Bytes per second that compressors read and write.
double CompressorRate(const StepSetup& setup);

// The compute of a step in nominal seconds, stretched by the ranks' factors and by collectives.
// Keeps references to its arguments.
class StretchedCompute {
 public:
  StretchedCompute(const StepSetup& setup, const BucketSchedule& schedule,
                   const std::vector<double>& factors);

  // Nominal seconds before the backward pass of the last batch.
  double forward() const { return forward_; }
  // The part of forward() that earlier batches spend on backward and on adding up gradients.
  double earlier_backward() const { return earlier_backward_; }
  double backward_end() const { return ends_.back(); }
  double slowest() const { return slowest_; }

  // Time at which the slowest rank has the gradients up to `entry`, given the collectives so far.
  double Ready(int entry) const { return ready_[entry] * slowest_ + lost_; }
  double BackwardEnd(double factor) const { return ends_.back() * factor + lost_; }

  // The earliest time, not before `time`, by which every rank has completed its current layer with
  // parameters.
  double LayerEnd(double time) const;

  // Duration of a collective that starts at `begin`, takes `seconds` alone, and loses the fraction
  // `rate_lost` of its speed during compute.
  double Stretched(double begin, double seconds, double rate_lost) const;

  // Adds the time that the slowest rank lost to a collective before the end of its backward pass.
  void Lose(double begin, double end);

 private:
  // The time to write the weights that are ahead.
  double AheadSeconds(const BucketSchedule& schedule) const;
  // The arithmetic on a parameter's gradient of the last batch: of compressors, and of the sum.
  double GradientSeconds(int entry, const BucketSchedule& schedule) const;

  const StepSetup& setup_;
  const std::vector<double>& factors_;
  const double slowest_;
  double forward_ = 0, earlier_backward_ = 0;
  double lost_ = 0;
  std::vector<double> ready_;  // by entry
  std::vector<double> ends_;   // ends of layers with parameters and of backward, ascending
};

}  // namespace gf
