#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/config/job.pb.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "models/parameter_store.h"

namespace gf {

// The scalars of one update.
struct UpdateScalars {
  double lr = 0;
  double last_lr = 0;         // learning rate of the last update; 0 if there was none
  double gradient_scale = 1;  // factor of the gradients
  int64_t update = 1;         // counts updates from 1
  // Update changes nothing in a step in which Inspect found a number that is not finite.
  bool only_if_finite = false;
};

// Turns reduced gradients into new weights. Each solver is one file per device that registers
// itself.
//
// A step calls BeginStep; then Inspect for ranges of the pool, if it must know whether gradients
// are finite; then Update once for each element to update, after Inspect of that element (with
// only_if_finite: after all calls of Inspect). The ranges of a call are in order, and no two of a
// step overlap. On a GPU, only Finite waits. The caller must call ParameterStore::BumpVersion.
class Solver {
 public:
  virtual ~Solver() = default;

  // Whether each call of Update must contain all ranges of a tensor.
  virtual bool whole_tensors() const { return false; }

  // `scalars` apply to all updates of the step.
  virtual void BeginStep(const UpdateScalars& scalars) = 0;

  // Entries whose gradients carry their momentum already, from this step on; empty: none. To be
  // called before BeginStep, for solvers with a velocity (MomentumSolver).
  virtual void SetCarried(const std::vector<bool>& entries);

  // The weight decay of updates from this step on; to be called before BeginStep. Solvers without a
  // velocity always apply one step's.
  virtual void SetDecaySteps(const DecaySteps& steps) {}

  // Examines reduced gradients.
  virtual void Inspect(const std::vector<ElementRange>& ranges) = 0;
  // Finite returns whether all gradients examined in this step are finite. ReadFinite, called after
  // the last Inspect, starts the copy of the answer to the host early.
  virtual void ReadFinite() {}
  virtual bool Finite() = 0;

  // Updates these elements of the master and the compute pool from the gradient pool.
  virtual void Update(const std::vector<ElementRange>& ranges) = 0;

  // Between two steps: compute = master - lr * lr_mult * scale * residual in these ranges. The
  // store must have its own compute pool. `residual` is FP32 and has the pools' offsets.
  virtual void StepAhead(const Tensor& residual, const std::vector<ElementRange>& ranges, double lr,
                         double scale);

  // The state that checkpoints must store: FP32 pools with the parameters' offsets, by name.
  virtual std::vector<std::pair<std::string, Tensor>> State() const = 0;

  // Whether the device may record work that repeats in every step and replay it (Device::Record).
  void set_record(bool record) { record_ = record; }

 protected:
  bool record() const { return record_; }

 private:
  bool record_ = true;
};

// Solvers are registered as "<device>/<type>".
using SolverRegistry = Registry<Solver, const SolverConfig&, ParameterStore*>;

// Creates the solver of a type ("SGD") for the store's device. Throws UserError for settings out of
// range (CheckUpdate), and "unknown <what> ..." if the device has no such solver.
std::unique_ptr<Solver> NewSolver(const std::string& what, const std::string& type,
                                  const SolverConfig& config, ParameterStore* store);

}  // namespace gf
