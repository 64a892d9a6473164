#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "comm/flow/buckets.h"
#include "comm/flow/gradient_flow_options.h"
#include "comm/flow/gradient_transport.h"
#include "comm/flow/transfer_times.h"
#include "comm/flow/waiting_gradients.h"
#include "core/config/job.pb.h"
#include "core/device.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// Costs of communication on this rank in the last step. If devices carry gradients themselves, the
// times lag behind: they cover the collectives that the device has passed since the end of the
// previous step, and most of these belong to that step.
struct CommStats {
  double exposed_s = 0;     // seconds that the step waited for collectives
  double transfer_s = 0;    // seconds in which collectives were under way
  double arithmetic_s = 0;  // seconds in which the step packed, unpacked and chose chunks
  int64_t wire_bytes = 0;   // bytes handed to allreduces, in the wire type, and half of the bytes
                            // of allgathers and reduce-scatters, the halves of an allreduce, and
                            // of the memory of encoded sums, which has them twice
  int64_t allreduces = 0;
};

// The type that travels for gradients of a type.
DType WireTypeOf(const CommConfig& config, DType gradients);

// The mode that sends: the exchange of PERIODIC's rounds, otherwise comm.mode itself.
CommConfig::Mode SendingModeOf(const CommConfig& config);

// The name in GradientFlowRegistry of what a job of `world` ranks needs.
std::string FlowNameOf(const CommConfig& config, int world);

// Whether ranks compute gradients at weights that are ahead by what SPARSE has not sent, see Note
// [Step-ahead error feedback]. AUTO: while it has SPARSE. `on_host`: gradients are computed in
// `compute` by the processor.
bool StepsAhead(const CommConfig& config, const std::string& solver, int world, DType compute,
                bool on_host);

// Sums the gradients of a step over the ranks; the trainer's interface to communication. The solver
// divides the sums by summed_ranks(). Per step: BeginStep, GradientsReady for each layer as
// backward finishes it, Finish; after the update of a local() step with round_ends(), EndRound. All
// ranks have the same layout.
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
  // ranges of elements, while others may still travel. Ranges do not overlap; those of a call are
  // in the pool's order. Dense modes cover every entry, each by one range as a whole, the only one
  // of its call, in the pool's order; TOPK covers every entry, too. SPARSE covers the important
  // chunks, and a sharded update this rank's parts: what they leave out must not be updated here in
  // this step. Throws CommError.
  void Finish(const Reduced& reduced);

  // Whether the "sums" of this step are the gradients of this rank alone (in the rounds of
  // PERIODIC), so that the weights of the ranks drift apart.
  virtual bool local() const { return false; }
  int summed_ranks() const { return local() ? 1 : comm_->size(); }

  // Whether all ranks have the same weights after this step.
  virtual bool round_ends() const { return true; }
  // Gives the weights of all ranks the same values, after the update of a local step; collective.
  // Calls before_change, unless it is empty, once everything has come and before it changes a
  // weight. Throws CommError, and AgreedError if training has diverged.
  virtual void EndRound(const std::function<void()>& before_change) {}
  // The smallest number of steps, not less than `steps`, after which a round ends.
  virtual int64_t CompleteSteps(int64_t steps) const { return steps; }

  // Lets the transport time the messages that this mode sends; collective, before the first step.
  virtual void Measure() {}

  // The buckets of a (dense) step.
  virtual std::vector<Bucket> Buckets() const = 0;

  // One line for people: transport, algorithms, buckets.
  std::string Describe() const;

  // Blocks until nothing is under way. Must be called before a step's results are written down or
  // judged: a device's collective may have failed without the host's noticing. Throws CommError.
  void Settle();

  virtual const CommStats& stats() const { return stats_; }

  // What a rank must keep to continue: FP32 pools of its own with the layout's offsets, by name
  // ("residual": gradients it has not sent; in PERIODIC "outer_residual": of differences, and
  // "local_momentum": a solver's pool), and the chunks that are important in the next step. Between
  // two steps; the pools hold this until the next step begins.
  virtual std::vector<std::pair<std::string, Tensor>> State() const { return {}; }
  virtual std::vector<int64_t> important_chunks() const { return {}; }
  // What all ranks must keep alike: an FP32 vector on the gradients' device, of a length that
  // depends on the net and the config. No data: nothing.
  virtual Tensor shared_state() const { return {}; }
  // A pool of State(); no data: there is none.
  Tensor StatePool(const std::string& name) const;
  Tensor residual() const { return StatePool("residual"); }

  // GradientFlowOptions::steps_ahead.
  bool steps_ahead() const { return options_.steps_ahead; }
  // Between two steps, of a flow that `may_wait`. What does not wait was updated in the last step,
  // unless that was skipped.
  virtual WaitingGradients waiting() const { return {}; }
  // Whether gradients may wait in later steps so that the solver does not see them: SPARSE.
  virtual bool may_wait() const { return false; }

  // Whether sums of this step carry their momentum already, by entry; empty: none does.
  virtual std::vector<bool> carries_momentum() const { return {}; }

  // The weight decay that updates of this step apply. The vector changes when the next step begins.
  virtual DecaySteps decay_steps() const { return {}; }

  // Gathers a pool of the solver's state on all ranks where each holds only its own parts of it (a
  // sharded update); collective.
  virtual void Complete(const Tensor& pool) {}

  // Whether gradients of this step, on any rank, were not finite where the sums do not show it
  // (SPARSE: outside the important chunks); they were dropped. The same on all ranks.
  virtual bool overflowed() const { return false; }
  // Multiplies the gradients that are kept, because the next ones come multiplied by `factor`.
  virtual void Rescale(float factor) {}

  // AUTO: makes a new flow exchange as ExchangeChoice says by the name of a rung, instead of
  // measuring; collective. False, and nothing changes, if the rung does not go with this job.
  virtual bool Adopt(const std::string& rung) { return false; }

  // After the pools of State(), and shared_state(), were filled.
  virtual void Restore(const std::vector<int64_t>& important_chunks) {}

 protected:
  // Must not communicate; options.transport and transfer_times are set. `gradients`: a pool of
  // layout.count() elements on options.device, FP32 or BF16; FP16 where the host does not read its
  // memory. layout and comm outlive the object.
  GradientFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
               const GradientFlowOptions& options);

  // A collective under way.
  struct Flight {
    ElementRange range;  // of the pool, or of what was packed
    std::string name;
    int64_t number = -1;  // of the transport
    int64_t bytes = 0;    // on the wire
  };

  // What differs between modes. ready_entries(): how many entries from the pool's start on are
  // ready without a gap.
  virtual void OnBegin() {}
  virtual void OnReady() = 0;
  virtual void OnFinish(const Reduced& reduced) = 0;

  // Starts the sum over ranks (or another collective) of a range of a tensor on options.device,
  // behind the work that the compute stream holds now. Await flights in the order of their starts.
  Flight Launch(const Tensor& tensor, const ElementRange& range, DType wire,
                const std::string& name, Collective::Kind kind = Collective::kAllReduce,
                std::shared_ptr<const EncodedSum> sum = nullptr);
  // Waits for a flight and accounts for it. Work enqueued later on the compute stream sees the
  // result.
  void Await(const Flight& flight);
  // Accounts for work on gradients.
  template <typename Body>
  void Work(const Body& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    stats_.arithmetic_s +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  // Adds what another flow has done for this one in this step.
  void Account(const CommStats& stats);

  int ready_entries() const { return ready_prefix_; }
  const PoolLayout& layout() const { return layout_; }
  const Tensor& gradients() const { return gradients_; }
  Communicator* comm() const { return comm_; }
  const GradientFlowOptions& options() const { return options_; }
  int64_t step() const { return step_; }
  GradientTransport* transport() const { return transport_.get(); }
  // The type that travels.
  DType wire() const { return wire_; }

 private:
  const PoolLayout& layout_;
  const Tensor gradients_;
  Communicator* const comm_;
  const GradientFlowOptions options_;
  const std::shared_ptr<GradientTransport> transport_;
  const DType wire_;
  int64_t step_ = -1;
  bool in_step_ = false;
  std::vector<bool> ready_;
  int ready_prefix_ = 0;
  const std::shared_ptr<TransferTimes> transfer_times_;  // what no step's stats_ hold yet
  CommStats stats_;
};

// Modes by name ("LAZY", ...).
using GradientFlowRegistry = Registry<GradientFlow, const PoolLayout&, const Tensor&, Communicator*,
                                      const GradientFlowOptions&>;

// The mode that the config names, after Measure; collective. Throws UserError for settings that do
// not fit (CheckComm), AgreedError if a rank has no memory for it.
std::unique_ptr<GradientFlow> NewGradientFlow(const PoolLayout& layout, const Tensor& gradients,
                                              Communicator* comm,
                                              const GradientFlowOptions& options);

}  // namespace gf
