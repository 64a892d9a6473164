#pragma once

#include <memory>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "solvers/cuda/range_calls.h"
#include "solvers/cuda/update_kernels.h"
#include "solvers/parameter_rules.h"
#include "solvers/solver.h"

namespace gf {

// The common part of solvers on GPUs: pools in the form that kernels use. All work is enqueued on
// the compute stream.
class CudaSolver : public Solver {
 public:
  void BeginStep(const UpdateScalars& scalars) override;
  void Inspect(const std::vector<ElementRange>& ranges) override;
  void ReadFinite() override;
  bool Finite() override;
  void Update(const std::vector<ElementRange>& ranges) override;
  void StepAhead(const Tensor& residual, const std::vector<ElementRange>& ranges, double lr,
                 double scale) override;

 protected:
  // `config` has passed CheckUpdate (NewSolver). The store must outlive the solver.
  CudaSolver(const SolverConfig& config, ParameterStore* store);

  // Creates a zeroed FP32 pool.
  Tensor NewState() const;

  // Enqueue the work of Inspect and Update; see RangeCalls::Run.
  virtual void EnqueueInspect(const RangeList& list) { InspectGradients(pools_, list, stream()); }
  virtual void EnqueueUpdate(const RangeList& list) = 0;

  // Of solver.epsilon, for solvers that use StepNumbers::adaptive.
  virtual float default_epsilon() const { return 0; }

  UpdatePools* pools() { return &pools_; }
  const std::vector<PoolPiece>& pieces() const { return pieces_; }
  const SolverConfig& config() const { return config_; }
  ParameterStore* store() const { return store_; }
  cudaStream_t stream() const { return RawStream(store_->device()->compute_stream()); }

 private:
  void FindCompute();

  const SolverConfig config_;
  ParameterStore* const store_;
  std::vector<PoolPiece> pieces_;
  std::vector<std::shared_ptr<void>> memory_;
  UpdatePools pools_;
  RangeCalls inspections_, updates_, ahead_;
  bool updated_ = false;
  std::unique_ptr<HostReading> finite_;  // result of all inspections so far
};

}  // namespace gf
