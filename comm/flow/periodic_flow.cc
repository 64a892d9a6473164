#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/agree.h"
#include "comm/flow/gradient_flow.h"
#include "comm/periodic/outer_arithmetic.h"
#include "comm/periodic/round_schedule.h"
#include "comm/pool_transfer.h"
#include "core/error.h"

namespace gf {
namespace {

// Note [PERIODIC]
// Local SGD (Stich, arXiv 1805.09767): in a round every rank updates its own weights from its own
// gradients. At the end of the round each rank's difference, the weights at the start (the anchor)
// minus its weights now, travels like a gradient in another mode, with that mode's error feedback.
// Their mean is the gradient of an outer step with Nesterov momentum, whose result is the anchor of
// the next round and the weights of all ranks (Douillard et al., arXiv 2311.08105, DiLoCo); rate 1
// without momentum takes the mean of the weights. The first steps of training exchange gradients
// (post-local SGD, Lin et al., arXiv 1808.07217).
//
// What the solver keeps stays on its rank and differs between the ranks, so it belongs to State().
// Elements that are not exchanged (SPARSE's unimportant chunks) return to the anchor; their
// difference is in the residual.
class PeriodicFlow : public GradientFlow {
 public:
  PeriodicFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
               const GradientFlowOptions& options)
      : GradientFlow(layout, gradients, comm, options),
        config_(options.config.periodic()),
        schedule_(config_, options.total_steps) {
    if (schedule_.warmup_steps() > 0) gradients_ = NewGradientsFlow();
    pools_.weights = options.master;
    pools_.anchor = NewPool();
    // Gradients are of no use after the update.
    pools_.differences = gradients.desc.dtype == DType::kFP32 ? gradients : NewPool();
    if (config_.outer_momentum() > 0) pools_.velocity = NewPool();
    exchange_ = NewExchange();
    Device* const device = options.device;
    arithmetic_ = OuterArithmeticRegistry::Get().Create(
        "device of comm.mode: PERIODIC", device->name(), device, pools_,
        OuterFactors{config_.outer_lr(), config_.outer_momentum(), comm->size()});
  }

  void Measure() override { (gradients_ ? gradients_ : exchange_)->Measure(); }
  std::vector<Bucket> Buckets() const override { return exchange_->Buckets(); }

  bool local() const override { return schedule_.local(step()); }
  bool round_ends() const override { return schedule_.ends(step()); }
  int64_t CompleteSteps(int64_t steps) const override { return schedule_.CompleteSteps(steps); }

  void EndRound(const std::function<void()>& before_change) override {
    Exchange();
    if (exchange_->overflowed()) {
      throw AgreedError(StrCat("step ", step() + 1,
                               ": differences of weights are not finite: training has diverged. "
                               "Lower solver.base_lr or lengthen the warm-up; --resume continues "
                               "from the last checkpoint"));
    }
    if (before_change) before_change();
    Work([&] { Update(); });
    if (options().weights_changed) options().weights_changed();
  }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    std::vector<std::pair<std::string, Tensor>> state;
    for (const auto& [name, pool] : exchange_->State()) state.emplace_back("outer_" + name, pool);
    for (const auto& [name, pool] : options().solver_state) {
      state.emplace_back("local_" + name, pool);
    }
    if (pools_.velocity.data != nullptr) state.emplace_back("outer_momentum", pools_.velocity);
    return state;
  }
  Tensor shared_state() const override { return exchange_->shared_state(); }
  std::vector<int64_t> important_chunks() const override { return exchange_->important_chunks(); }
  void Restore(const std::vector<int64_t>& chunks) override {
    restored_ = true;
    exchange_->Restore(chunks);
  }

 protected:
  void OnBegin() override {
    announced_ = 0;
    if (std::exchange(restored_, false) && !local()) ShareSolverState();
    if (!local()) return gradients_->BeginStep(step());
    if (std::exchange(anchored_, true)) return;
    Work([&] { arithmetic_->Anchor(); });
  }

  void OnReady() override {
    if (local()) return;
    std::vector<int> ready;
    for (; announced_ < ready_entries(); ++announced_) ready.push_back(announced_);
    if (!ready.empty()) gradients_->GradientsReady(ready);
  }

  void OnFinish(const Reduced& reduced) override {
    if (local()) return reduced({{0, layout().count()}});
    gradients_->Finish(reduced);
    Account(gradients_->stats());
  }

 private:
  Tensor NewPool() const {
    Tensor pool;
    pool.desc = {Shape{layout().count()}, DType::kFP32, Layout()};
    pool.owner = options().device->Allocate(pool.desc.bytes());
    pool.data = pool.owner.get();
    return pool;
  }

  // A resumed job may have a longer warm-up than before and return to it from a round. Updates of
  // the warm-up must be the same on all ranks, so all ranks take the pools of rank 0.
  void ShareSolverState() {
    for (const auto& [name, pool] : options().solver_state) {
      BroadcastPool(options().device, pool, "solver's " + name, comm());
    }
  }

  std::unique_ptr<GradientFlow> NewGradientsFlow() const {
    GradientFlowOptions options = this->options();
    options.config.set_mode(CommConfig::LAZY);
    options.config.set_error_feedback(false);
    return New(gradients(), options);
  }

  // Of the differences.
  std::unique_ptr<GradientFlow> NewExchange() const {
    GradientFlowOptions options = this->options();
    options.config = ExchangeOfDifferences(options.config, wire());
    options.momentum = 0;
    options.total_steps = std::max<int64_t>(1, schedule_.rounds());
    options.counted = "round";
    options.mode_setting = "comm.periodic.exchange";
    return New(pools_.differences, options);
  }

  std::unique_ptr<GradientFlow> New(const Tensor& pool, const GradientFlowOptions& options) const {
    const std::string name = FlowNameOf(options.config, comm()->size());
    return GradientFlowRegistry::Get().Create("comm.periodic.exchange", name, layout(), pool,
                                              comm(), options);
  }

  // The differences of the first tensors travel while those of the others are computed.
  void Exchange() {
    const int64_t round = (step() - schedule_.warmup_steps()) / config_.steps();
    exchange_->BeginStep(round);
    int number = 0;
    for (const PoolEntry& entry : layout().entries()) {
      Work([&] { arithmetic_->Subtract({entry.offset, entry.offset + entry.count}); });
      exchange_->GradientsReady({number++});
    }
    exchanged_.clear();
    exchange_->Finish([&](const std::vector<ElementRange>& ranges) {
      exchanged_.insert(exchanged_.end(), ranges.begin(), ranges.end());
    });
    Account(exchange_->stats());
  }

  // Steps where differences were exchanged and returns elsewhere.
  void Update() {
    std::sort(exchanged_.begin(), exchanged_.end(),
              [](const ElementRange& a, const ElementRange& b) { return a.begin < b.begin; });
    int64_t end = 0;
    for (const ElementRange& range : exchanged_) {
      if (end < range.begin) arithmetic_->Return({end, range.begin});
      arithmetic_->Step(range);
      end = range.end;
    }
    if (end < layout().count()) arithmetic_->Return({end, layout().count()});
  }

  const PeriodicConfig config_;
  const RoundSchedule schedule_;
  OuterPools pools_;
  std::unique_ptr<GradientFlow> gradients_;  // of the warm-up; null: there is none
  std::unique_ptr<GradientFlow> exchange_;   // of differences
  std::unique_ptr<OuterArithmetic> arithmetic_;
  bool anchored_ = false;                // the anchor is the weights at the start of this round
  bool restored_ = false;                // State() was filled, and no step has begun since
  int announced_ = 0;                    // entries that gradients_ knows to be ready
  std::vector<ElementRange> exchanged_;  // in this round
};

GF_REGISTER(GradientFlowRegistry, "PERIODIC", PeriodicFlow);

}  // namespace
}  // namespace gf
