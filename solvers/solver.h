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

// The numbers of one update.
struct UpdateScalars {
  double lr = 0;
  double last_lr = 0;         // of the update before; 0: there was none
  double gradient_scale = 1;  // gradients are multiplied by it first
  int64_t update = 1;         // counts updates from 1
  // Update changes nothing in a step in which Inspect has seen a number that is not finite.
  bool only_if_finite = false;
};

// Turns reduced gradients into new weights. A solver is a new file per device that registers
// itself.
//
// Per step: BeginStep; Inspect for ranges of the pool, if it matters whether gradients are finite;
// Update once per element to be updated, after its Inspect (with only_if_finite: after all of
// them). Ranges are in order and do not overlap. On a GPU only Finite waits.
// ParameterStore::BumpVersion is the caller's business.
class Solver {
 public:
  virtual ~Solver() = default;

  // Whether an update needs whole tensors: then each call of Update has all of a tensor's ranges.
  virtual bool whole_tensors() const { return false; }

  // `scalars` are those of the step's updates.
  virtual void BeginStep(const UpdateScalars& scalars) = 0;

  // Looks at reduced gradients.
  virtual void Inspect(const std::vector<ElementRange>& ranges) = 0;
  // Whether all that were looked at in this step are finite. ReadFinite, after the last of them,
  // lets the answer travel to the host before it is asked for.
  virtual void ReadFinite() {}
  virtual bool Finite() = 0;

  // Updates these elements of the master and the compute pool from the gradient pool.
  virtual void Update(const std::vector<ElementRange>& ranges) = 0;

  // What must be saved to continue: FP32 pools with the parameters' offsets, by name.
  virtual std::vector<std::pair<std::string, Tensor>> State() const = 0;

  // Whether the device may record what steps repeat, and replay it (Device::Record).
  void set_record(bool record) { record_ = record; }

 protected:
  bool record() const { return record_; }

 private:
  bool record_ = true;
};

// Names are "<device>/<type>".
using SolverRegistry = Registry<Solver, const SolverConfig&, ParameterStore*>;

// The solver of a type ("SGD") for the store's device. Throws UserError for settings that are out
// of range (CheckUpdate), and "unknown <what> ..." if the device has no such solver.
std::unique_ptr<Solver> NewSolver(const std::string& what, const std::string& type,
                                  const SolverConfig& config, ParameterStore* store);

}  // namespace gf
