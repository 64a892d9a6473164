#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// A contiguous range of the gradient pool that is reduced at once.
struct Bucket {
  int64_t offset = 0, count = 0;        // elements of the pool
  int first_entry = 0, last_entry = 0;  // of the PoolLayout, both inclusive
};

// What the last step's communication cost this rank.
struct CommStats {
  double exposed_s = 0;    // seconds that the step waited for it
  int64_t wire_bytes = 0;  // bytes handed to allreduces, in the wire type
  int64_t allreduces = 0;
};

// Exchanges the gradients of a step: what the trainer talks to. Sums only: dividing by the world
// is the solver's business. Per step: BeginStep, GradientsReady for each layer as backward
// finishes it, Finish. All ranks have the same layout.
class GradientFlow {
 public:
  virtual ~GradientFlow() = default;

  // Before backward writes its first gradient.
  void BeginStep(int64_t step);

  // The gradients of these parameters (indices into PoolLayout::entries()) are final on this
  // rank; each at most once per step. Parameters never named count as ready in Finish.
  void GradientsReady(const std::vector<int>& parameters);

  // After backward. Calls reduced(bucket) once the pool holds the sum over all ranks in that
  // range; every entry is in exactly one bucket, buckets come in the pool's order. Returns after
  // the last one. Throws CommError.
  void Finish(const std::function<void(const Bucket&)>& reduced);

  // The buckets of a step.
  virtual std::vector<Bucket> Plan() const = 0;

  const CommStats& stats() const { return stats_; }

 protected:
  // `gradients`: a pool of layout.count() elements in host memory, FP32 or BF16. All three
  // arguments outlive the object (the tensor's memory, not the Tensor).
  GradientFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm);

  // What differs between modes; `fresh` was not named before in this step.
  virtual void OnReady(const std::vector<int>& fresh) = 0;
  virtual void OnFinish(const std::function<void(const Bucket&)>& reduced) = 0;

  // Sums one bucket over the ranks and counts it in stats().
  void AllReduce(const Bucket& bucket);

  const PoolLayout& layout() const { return layout_; }
  Communicator* comm() const { return comm_; }
  int64_t step() const { return step_; }

 private:
  const PoolLayout& layout_;
  const Tensor gradients_;
  Communicator* const comm_;
  int64_t step_ = -1;
  std::vector<bool> ready_;
  CommStats stats_;
};

// Modes by name ("PER_TENSOR", ...).
using GradientFlowRegistry =
    Registry<GradientFlow, const PoolLayout&, const Tensor&, Communicator*>;

#define GF_REGISTER_GRADIENT_FLOW(name, type)                                                 \
  static const bool GF_CONCAT(registered_, __LINE__) = ::gf::GradientFlowRegistry::Get().Add( \
      name,                                                                                   \
      [](const ::gf::PoolLayout& layout, const ::gf::Tensor& gradients,                       \
         ::gf::Communicator* comm) -> std::unique_ptr<::gf::GradientFlow> {                   \
        return std::make_unique<type>(layout, gradients, comm);                               \
      })

// Throws UserError for an unknown mode.
std::unique_ptr<GradientFlow> NewGradientFlow(const std::string& mode, const PoolLayout& layout,
                                              const Tensor& gradients, Communicator* comm);

}  // namespace gf
