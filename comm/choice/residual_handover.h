#pragma once

#include <memory>

#include "comm/flow/gradient_flow.h"
#include "comm/pack/range_packer.h"
#include "comm/topk/residual_units.h"
#include "core/device.h"
#include "core/pool_layout.h"
#include "core/tensor.h"

namespace gf {

// Passes the residual of a flow that AUTO replaces to the gradients of the next step. The host
// reads the device's memory.
class ResidualHandover {
 public:
  // Layout and device outlive the object.
  ResidualHandover(const PoolLayout& layout, const Tensor& gradients, Device* device,
                   const MomentumOfSolver& solver);

  // Adds the residual of a flow to its last sums, so that probes see the numbers of a whole step.
  void AddTo(const GradientFlow& flow) const;

  // Between two steps: takes the residual of a flow that ends, as gradients (Note [Units of
  // residuals]).
  void Keep(const GradientFlow& flow);
  // Adds the residual to the gradients of the entries [first, last), which are ready.
  void Merge(int first, int last);
  // After the step.
  void Done() { merger_.reset(); }

 private:
  const PoolLayout& layout_;
  const Tensor gradients_;
  Device* const device_;
  const MomentumOfSolver solver_;
  std::unique_ptr<RangePacker> merger_;
};

}  // namespace gf
