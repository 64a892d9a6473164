#pragma once

#include <cstdint>
#include <string>

#include "core/config/job.pb.h"
#include "models/parameter_store.h"

namespace gf {

// The factor of the loss that keeps small gradients from vanishing in half precision (Micikevicius
// et al., arXiv 1710.03740). All ranks see the same sums of gradients, so they agree on the factor
// without communication. DYNAMIC doubles it after growth_interval clean steps, and halves it after
// a skipped step, whose gradients were not finite.
class LossScaler {
 public:
  // Throws UserError for values out of range.
  explicit LossScaler(const LossScaleConfig& config);

  // Whether gradients are inspected at all.
  bool active() const { return config_.policy() != LossScaleConfig::NONE; }
  double scale() const { return scale_; }
  int64_t clean_steps() const { return clean_steps_; }
  // Number of consecutive skipped steps.
  int64_t bad_steps() const { return bad_steps_; }
  // Whether training must end because too many consecutive steps were skipped.
  bool exhausted() const { return bad_steps_ >= config_.most_bad_steps(); }

  // To be called after a step with finite gradients, and after a skipped step.
  void Taken();
  void Skipped();

  // Restores the state of a checkpoint. Does nothing unless the policy is DYNAMIC and the scale is
  // in range.
  void Restore(double scale, int64_t clean_steps);

 private:
  const LossScaleConfig config_;
  double scale_ = 1;
  int64_t clean_steps_ = 0, bad_steps_ = 0;
};

// Name of the layer nearest to the loss whose gradients in the pool are not finite; "" if there is
// none.
std::string LayerWithBadGradient(const ParameterStore& store);

}  // namespace gf
