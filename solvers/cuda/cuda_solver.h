#pragma once

#include <memory>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "solvers/cuda/update_kernels.h"
#include "solvers/parameter_rules.h"
#include "solvers/solver.h"

namespace gf {

// What solvers on GPUs have in common: the pools as kernels see them. Everything is enqueued on the
// compute stream; only Inspect waits.
class CudaSolver : public Solver {
 public:
  bool Inspect(const ElementRange& range) override;

 protected:
  // Checks weight_decay. The store outlives the object.
  CudaSolver(const SolverConfig& config, ParameterStore* store);

  // A zeroed FP32 pool.
  Tensor NewState() const;
  // Sets the sums of all pieces to zero.
  void ClearSums();
  // Adds the squares of a range to the sums; whether they are finite.
  bool InspectSquares(const ElementRange& range);

  // `range` as kernels see it.
  UpdateRange Pieces(const ElementRange& range) const;

  UpdatePools* pools() { return &pools_; }
  const SolverConfig& config() const { return config_; }
  cudaStream_t stream() const { return RawStream(store_->device()->compute_stream()); }

 private:
  void ClearBad();
  bool IsBad() const;

  const SolverConfig config_;
  ParameterStore* const store_;
  std::vector<PoolPiece> pieces_;
  std::vector<std::shared_ptr<void>> memory_;
  UpdatePools pools_;
};

}  // namespace gf
