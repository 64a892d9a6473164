#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/job.pb.h"
#include "core/registry.h"
#include "models/parameter_store.h"

namespace gf {

// Turns reduced gradients into new weights. A solver is a new file that registers itself.
class Solver {
 public:
  virtual ~Solver() = default;

  // Updates the elements [begin, end) of the master and the compute pool from the gradient pool,
  // whose values are multiplied by `gradient_scale` first. Call ParameterStore::BumpVersion
  // after the last range of a step.
  virtual void Update(int64_t begin, int64_t end, double lr, double gradient_scale) = 0;

  // What must be saved to continue: FP32 pools with the parameters' offsets, by name.
  virtual std::vector<std::pair<std::string, Tensor>> State() const = 0;
};

using SolverRegistry = Registry<Solver, const SolverConfig&, ParameterStore*>;

#define GF_REGISTER_SOLVER(name, type)                                                  \
  static const bool GF_CONCAT(registered_, __LINE__) = ::gf::SolverRegistry::Get().Add( \
      name,                                                                             \
      [](const ::gf::SolverConfig& config, ::gf::ParameterStore* store)                 \
          -> std::unique_ptr<::gf::Solver> { return std::make_unique<type>(config, store); })

}  // namespace gf
