#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/flow/bucket_plan.h"
#include "comm/flow/device_exchange.h"
#include "comm/flow/host_mirror.h"
#include "comm/flow/tuner.h"
#include "comm/sparse/chunks.h"
#include "core/config/job.pb.h"
#include "core/device.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "core/telemetry/timeline.h"
#include "core/tensor.h"

namespace gf {

// What the last step's communication cost this rank. Where devices exchange gradients, the times
// are of earlier work: what the device had passed by the end of the step, mostly that of the step
// before.
struct CommStats {
  double exposed_s = 0;     // seconds that the step waited for it
  double transfer_s = 0;    // seconds in which the communication thread was at work
  double arithmetic_s = 0;  // seconds in which the step packed, unpacked and chose chunks
  int64_t wire_bytes = 0;   // bytes handed to allreduces, in the wire type
  int64_t allreduces = 0;
};

// The type that travels for gradients of a type.
DType WireTypeOf(const CommConfig& config, DType gradients);

struct GradientFlowOptions {
  CommConfig config;
  // No choice depends on measured times.
  bool deterministic = false;
  // Length of training: SPARSE's warm-up is a part of it.
  int64_t total_steps = 1;
  // The solver's momentum, for SPARSE's correction.
  float momentum = 0;
  // Where the gradients lie, null: in host memory; and residuals, so that SPARSE needs it.
  Device* device = nullptr;
  // For comm.sharded_update: the FP32 master weights, and what is called once they are new in every
  // part (the ranges that a rank updates itself are not all of them).
  Tensor master;
  std::function<void()> weights_changed;
  // May be null.
  Timeline* timeline = nullptr;
  // What ChooseExchange said of this config, device and communicator, if it was asked before; the
  // flow takes it over. Null: the flow asks.
  std::shared_ptr<ExchangeChoice> exchange;
};

// Exchanges the gradients of a step: what the trainer talks to. Sums only: dividing by the world
// is the solver's business. Per step: BeginStep, GradientsReady for each layer as backward
// finishes it, Finish. All ranks have the same layout.
class GradientFlow {
 public:
  using Reduced = std::function<void(const std::vector<ElementRange>&)>;

  virtual ~GradientFlow() = default;

  // Before backward writes its first gradient.
  void BeginStep(int64_t step);

  // The gradients of these parameters (indices into PoolLayout::entries()) are final on this
  // rank; each at most once per step. Parameters never named count as ready in Finish.
  void GradientsReady(const std::vector<int>& parameters);

  // After backward. Calls reduced(ranges) once the pool holds the sum over all ranks in these
  // ranges of elements, while others may still travel. Ranges come in the pool's order and do not
  // overlap, within a call and from call to call. Dense modes cover every entry, each by one range
  // as a whole, the only one of its call; SPARSE covers the important chunks, and a sharded update
  // this rank's parts: what they leave out must not be updated here in this step. Throws CommError.
  void Finish(const Reduced& reduced);

  // The buckets of a (dense) step.
  virtual std::vector<Bucket> Plan() const = 0;

  // One line for people: transport, algorithms, buckets.
  std::string Describe() const;

  // Blocks until nothing is under way. To be called before what a step has made is written down or
  // judged: the sums of a device may have failed without the host's knowing. Throws CommError.
  void Settle();

  const CommStats& stats() const { return stats_; }

  // What a rank must keep to continue: gradients it has not sent, an FP32 pool with the layout's
  // offsets (no data: there are none), and the chunks that are important in the next step.
  virtual Tensor residual() const { return {}; }
  virtual std::vector<int64_t> important_chunks() const { return {}; }
  // Makes a pool of the solver's state the same on all ranks, where each has kept up only its part
  // (a sharded update); collective.
  virtual void Complete(const Tensor& pool) {}

  // Whether gradients of this step, on any rank, were not finite where the sums do not show it
  // (SPARSE: outside the important chunks); they were dropped. The same on all ranks.
  virtual bool overflowed() const { return false; }
  // Multiplies what is left to send: from now on gradients are so many times as large.
  virtual void Rescale(float factor) {}

  // After residual() was filled.
  virtual void Restore(const std::vector<int64_t>& important_chunks) {}

 protected:
  // `gradients`: a pool of layout.count() elements on options.device, FP32 or BF16; FP16 where the
  // host does not read its memory. layout and comm outlive the object.
  GradientFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
               const GradientFlowOptions& options);

  // An allreduce under way.
  struct Flight {
    ElementRange range;  // of the pool, or of what was packed
    std::string name;
    int64_t number = -1;               // of exchange_
    std::shared_ptr<Pending> pending;  // otherwise
    HostMirror* mirror = nullptr;      // null where the host reads the memory itself
  };

  // What differs between modes. ready_entries(): how many entries from the pool's start on are
  // ready without a gap.
  virtual void OnBegin() {}
  virtual void OnReady() = 0;
  virtual void OnFinish(const Reduced& reduced) = 0;

  // Starts the sum of a range of a tensor on options.device over the ranks (or another collective),
  // after what is on the compute stream by now.
  Flight Launch(const Tensor& tensor, const ElementRange& range, DType wire,
                const std::string& name, Collective::Kind kind = Collective::kAllReduce);
  // Waits for it and accounts for it. Work enqueued later on the compute stream sees the result.
  void Await(const Flight& flight);
  // Accounts for work on gradients.
  template <typename Body>
  void Work(const Body& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    stats_.arithmetic_s +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  int ready_entries() const { return ready_prefix_; }
  const PoolLayout& layout() const { return layout_; }
  const Tensor& gradients() const { return gradients_; }
  Communicator* comm() const { return comm_; }
  const GradientFlowOptions& options() const { return options_; }
  int64_t step() const { return step_; }
  // For the automatic choice of algorithms: times allreduces of up to `largest` bytes that lie on
  // the device in this type; collective.
  void MeasureAlgorithms(int64_t largest, DType dtype);
  // The type that travels.
  DType wire() const { return wire_; }
  // "fc6.weight to fc7.bias"
  std::string NameOf(int first_entry, int last_entry) const;
  AlgorithmChoice* algorithms() { return &algorithms_; }

 private:
  // Null where the host reads the tensor itself, or nothing travels.
  HostMirror* MirrorOf(const Tensor& tensor);
  // On what the host reads, if anything travels.
  std::shared_ptr<Pending> Start(const Collective& collective, const std::string& label);
  void AwaitHost(const Flight& flight);

  // What the timeline shows of a flight.
  struct Exchanged {
    int64_t step;  // the timeline's
    std::string name;
    int64_t bytes;
  };
  Exchanged ExchangedBy(const Flight& flight) const;
  void Show(const Exchanged& e, const ExchangeSpan& span);
  // The plan that exchange_ is to follow, "": it chooses.
  std::string plan_name() const {
    return options_.config.algorithm() == "auto" ? "" : options_.config.algorithm();
  }
  // What exchange_ tells of its collectives, often a step late.
  void TakeSpans();

  const PoolLayout& layout_;
  const Tensor gradients_;
  Communicator* const comm_;
  const GradientFlowOptions options_;
  const bool on_host_;  // the host reads what lies on the device
  std::unique_ptr<DeviceExchange> exchange_;
  std::string why_not_exchange_;
  std::map<const void*, std::unique_ptr<HostMirror>> mirrors_;  // by the tensor's memory
  DType wire_;
  AlgorithmChoice algorithms_;
  int64_t step_ = -1;
  std::vector<bool> ready_;
  int ready_prefix_ = 0;
  std::chrono::steady_clock::time_point busy_until_;
  CommStats stats_;
  // Awaited of exchange_, whose spans have not come; and the sums over those that have.
  std::deque<Exchanged> exchanged_;
  CommStats exchanges_;
};

// Modes by name ("LAZY", ...).
using GradientFlowRegistry = Registry<GradientFlow, const PoolLayout&, const Tensor&, Communicator*,
                                      const GradientFlowOptions&>;

// The mode that the config names; collective. Throws UserError for settings that do not fit.
std::unique_ptr<GradientFlow> NewGradientFlow(const PoolLayout& layout, const Tensor& gradients,
                                              Communicator* comm,
                                              const GradientFlowOptions& options);

}  // namespace gf
