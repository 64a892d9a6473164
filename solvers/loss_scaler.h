#pragma once

#include <cstdint>
#include <string>

#include "core/config/job.pb.h"
#include "models/parameter_store.h"

namespace gf {

// The factor of the loss that keeps small gradients from vanishing in types of few bits
// (Micikevicius et al., arXiv 1710.03740). All ranks see the same sums of gradients and so agree on
// it without a message. DYNAMIC: twice as large after growth_interval clean steps, half as large
// after a step whose gradients are not finite, which is skipped.
class LossScaler {
 public:
  // Throws UserError for settings that cannot work (CheckLossScale).
  explicit LossScaler(const LossScaleConfig& config);

  // Whether gradients are inspected at all.
  bool active() const { return config_.policy() != LossScaleConfig::NONE; }
  double scale() const { return scale_; }
  int64_t clean_steps() const { return clean_steps_; }
  // Skipped steps in a row.
  int64_t bad_steps() const { return bad_steps_; }
  // Whether these are too many to go on.
  bool exhausted() const { return bad_steps_ >= config_.most_bad_steps(); }

  // After a step with finite gradients, and after another.
  void Taken();
  void Skipped();

  // As it was when a checkpoint was written; keeps the config's scale unless the policy is DYNAMIC.
  void Restore(double scale, int64_t clean_steps);

 private:
  const LossScaleConfig config_;
  double scale_ = 1;
  int64_t clean_steps_ = 0, bad_steps_ = 0;
};

// The layer nearest to the loss with a gradient in the pool that is not finite, "" if there is
// none.
std::string LayerWithBadGradient(const ParameterStore& store);

}  // namespace gf
