#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "comm/choice/first_chunks.h"
#include "comm/choice/ladder.h"
#include "comm/choice/ladder_pricer.h"
#include "comm/choice/measured_costs.h"
#include "comm/choice/residual_handover.h"
#include "comm/choice/rung_choice.h"
#include "comm/choice/step_notes.h"
#include "comm/choice/trials.h"
#include "comm/flow/gradient_flow.h"
#include "comm/sparse/selection.h"
#include "core/error.h"

namespace gf {
namespace {

// Note [AUTO]
// A flow of another mode does the work while the first steps are noted (Note [Noted steps]): LAZY,
// or where that would take seconds, factors of rank 1. Then Note [Which rung] takes a rung by its
// price, and whole steps try it against others (Note [Trials]). Last, the flow of the best does the
// work. The gradients of a flow's first step carry the residual of the flow before. All times are
// agreed, and rank 0's decisions count, so that all ranks take the same rung. Flows change before
// backward of a step, when nobody needs the gradients of the step before. A flow of SPARSE begins
// with the chunks that these make important, as its first step would send everything. Chunks that
// wait when a turn of SPARSE ends lose the weight decay of one to four steps.
class AutoFlow : public GradientFlow {
 public:
  AutoFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
           const GradientFlowOptions& options)
      : GradientFlow(layout, gradients, comm, options),
        handover_(layout, gradients, options.device, {options.momentum, options.nesterov}) {
    if (options.deterministic) {
      ThrowUserError(
          "comm.mode: AUTO chooses by measured times: set a mode for a deterministic run");
    }
    if (options.device == nullptr || !options.device->shares_host_memory()) {
      ThrowUserError(
          "comm.mode: AUTO cannot measure on this device: set a mode, e.g. LAZY with wire_type "
          "BF16, or QUANTIZED");
    }
    ladder_ =
        LadderOf(options.config, {layout, gradients.desc.dtype, options.solver, comm->size()});
    noted_as_ = FirstRung(ladder_).name;
    GradientFlowOptions lazy = this->options();
    lazy.config = FirstRung(ladder_).config;
    inner_ = GradientFlowRegistry::Get().Create("comm.mode", "LAZY", layout, gradients, comm, lazy);
    if (comm->size() > 1 && !layout.entries().empty()) {
      notes_.emplace(static_cast<int>(layout.entries().size()));
    }
  }

  void Measure() override { inner_->Measure(); }
  std::vector<Bucket> Buckets() const override { return inner_->Buckets(); }
  const CommStats& stats() const override { return inner_->stats(); }
  // Empty before the choice: a job that resumes there measures anew.
  std::vector<std::pair<std::string, Tensor>> State() const override {
    if (is_choosing()) return {};
    return inner_->State();
  }
  Tensor shared_state() const override { return is_choosing() ? Tensor() : inner_->shared_state(); }
  std::vector<int64_t> important_chunks() const override {
    return is_choosing() ? std::vector<int64_t>() : inner_->important_chunks();
  }
  WaitingGradients waiting() const override { return inner_->waiting(); }
  bool may_wait() const override { return inner_->may_wait(); }
  std::vector<bool> carries_momentum() const override { return inner_->carries_momentum(); }
  DecaySteps decay_steps() const override { return inner_->decay_steps(); }
  bool overflowed() const override { return inner_->overflowed(); }
  void Restore(const std::vector<int64_t>& chunks) override { inner_->Restore(chunks); }
  void Rescale(float factor) override {
    unit_ *= factor;
    inner_->Rescale(factor);
  }

  bool Adopt(const std::string& name) override {
    if (comm()->size() == 1) return false;
    for (const Rung& rung : ladder_) {
      for (const int power : ThresholdPowers(options().config)) {
        if (FullName(rung.name, power) != name || !rung.obstacle.empty()) continue;
        notes_.reset();
        Build(rung.config, power);
        return true;
      }
    }
    return false;
  }

 protected:
  void OnBegin() override {
    if (notes_ && notes_->complete()) Choose();
    if (trials_) {
      comm()->watchdog()->SetActivity(kActivity);
      if (trials_->Begin(choice_, comm())) NextTrial();
    }
    if (notes_ && !std::exchange(begun_, true) && IsLinkSlow()) NoteLight();
    if (notes_) notes_->Begin();
    handed_over_ = 0;
    inner_->BeginStep(step());
  }

  void OnReady() override {
    if (notes_) notes_->Ready(ready_entries());
    if (!notes_ || !notes_->withholds()) HandOver();
  }

  void OnFinish(const Reduced& reduced) override {
    used_ = true;
    if (!notes_) {
      handover_.Done();
      return inner_->Finish(reduced);
    }
    notes_->BackwardEnded();
    HandOver();
    inner_->Finish([&](const std::vector<ElementRange>& ranges) {
      const auto start = std::chrono::steady_clock::now();
      reduced(ranges);
      notes_->Updated(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    });
    notes_->End(inner_->stats().transfer_s);
  }

 private:
  // The longest exchange of all gradients of which users wait for four.
  static constexpr double kLongExchange_s = 3;
  static constexpr char kActivity[] = "the choice of comm.mode AUTO";

  // Whether an exchange of all gradients takes long. Collective.
  bool IsLinkSlow() {
    const DType type = gradients().desc.dtype;
    const auto element = static_cast<int64_t>(SizeOf(type));
    const double seconds = AllReduceSeconds(
        layout().count() * element,
        {options().config.algorithm(), type, LongestOf(inner_->Buckets()) * element}, transport(),
        comm());
    std::string slow = seconds > kLongExchange_s ? "slow" : "";
    comm()->Broadcast(&slow, 0, "the first steps of comm.mode AUTO");
    return !slow.empty();
  }

  // Replaces LAZY for the noted steps, unless a rank lacks the memory. Collective.
  void NoteLight() {
    const Rung& rung = LightRung(ladder_);
    const GradientFlowOptions own = InnerOptions(WithoutWarmup(rung.config));
    const std::string mode = CommConfig::Mode_Name(rung.config.mode());
    std::unique_ptr<GradientFlow> flow;
    try {
      flow =
          GradientFlowRegistry::Get().Create("comm.mode", mode, layout(), gradients(), comm(), own);
    } catch (const std::bad_alloc&) {
    }
    double lacking = flow == nullptr;
    comm()->AllReduce(&lacking, 1, ReduceOp::kMax, "the first steps of comm.mode AUTO");
    if (lacking > 0) return;
    inner_ = std::move(flow);
    inner_->Rescale(unit_);
    noted_as_ = rung.name;
  }

  bool noted_light() const { return noted_as_ != FirstRung(ladder_).name; }
  bool is_choosing() const { return notes_ || trials_; }

  // For a flow that does the work.
  GradientFlowOptions InnerOptions(const CommConfig& config) const {
    GradientFlowOptions own = options();
    own.config = config;
    own.objection = nullptr;
    own.chosen = nullptr;
    return own;
  }

  // Announces newly ready entries to the inner flow.
  void HandOver() {
    std::vector<int> entries;
    const int first = handed_over_;
    for (; handed_over_ < ready_entries(); ++handed_over_) entries.push_back(handed_over_);
    handover_.Merge(first, handed_over_);
    inner_->GradientsReady(entries);
  }

  // After the noted steps: prices the ladder, and takes a rung or begins to try some.
  void Choose() {
    comm()->watchdog()->SetActivity(kActivity);
    StepFacts facts = notes_->Agree(comm());
    if (noted_light()) {
      // It contains the compressor's arithmetic and hardly any collectives, so it does not show how
      // much these slow compute.
      facts.end_beside = facts.end;
      handover_.AddTo(*inner_);
    }
    LadderPricer pricer(
        {layout(), gradients(), options(), transport(), comm(), LongestOf(inner_->Buckets())});
    choice_ = pricer.Price(ladder_, FirstRung(ladder_), noted_as_, facts);
    ChooseRung(&choice_);
    BuildChosen();
    const std::vector<Trial> trials = AgreeOnTrials(TrialsOf(choice_), comm());
    notes_.reset();
    if (trials.empty()) return Announce();
    trials_.emplace(trials);
  }

  void NextTrial() {
    if (!trials_->complete()) {
      const Trial& trial = trials_->current();
      return Build(WithoutWarmup(ladder_[trial.rung].config), trial.power);
    }
    ChooseTried(trials_->trials(), &choice_);
    BuildChosen();
    trials_.reset();
    Announce();
  }

  // Builds the flow of rank 0's choice, or of one that the disk has room for. Collective.
  void BuildChosen() {
    for (;;) {
      std::string chosen = StrCat(choice_.chosen, " ", choice_.rungs[choice_.chosen].power);
      comm()->Broadcast(&chosen, 0, kActivity);
      std::istringstream words(chosen);
      words >> choice_.chosen;
      PricedRung* const rung = &choice_.rungs[choice_.chosen];
      words >> rung->power;
      Build(ladder_[choice_.chosen].config, rung->power);
      // A flow that keeps nothing needs no more room than the job has had so far.
      if (!options().objection || inner_->State().empty()) return;
      const std::string objection = options().objection(*inner_);
      if (objection.empty()) return;
      // The other rungs of its mode keep as much.
      const CommConfig::Mode mode = ladder_[choice_.chosen].config.mode();
      for (size_t i = 0; i < ladder_.size(); ++i) {
        if (ladder_[i].config.mode() != mode || !choice_.rungs[i].priced) continue;
        choice_.rungs[i].priced = false;
        choice_.rungs[i].verdict = objection;
      }
      ChooseAmongTheRest();
    }
  }

  // Among the tried rungs that are left, or else by price.
  void ChooseAmongTheRest() {
    std::vector<Trial> left;
    for (const Trial& trial : trials_ ? trials_->trials() : std::vector<Trial>()) {
      if (!choice_.rungs[trial.rung].priced) continue;
      choice_.rungs[trial.rung].tried = 0;
      left.push_back(trial);
    }
    left.empty() ? ChooseRung(&choice_) : ChooseTried(left, &choice_);
  }

  void Announce() {
    choice_.step = step();
    if (options().chosen) options().chosen(choice_);
  }

  // Replaces the inner flow with a new one for the config of a rung. The next gradients carry the
  // residual of the old one. Collective.
  void Build(const CommConfig& config, int power) {
    std::vector<int64_t> known;  // chunks of SPARSE
    if (std::exchange(used_, false)) {
      handover_.Keep(*inner_);
      known = inner_->important_chunks();
    }
    inner_.reset();
    inner_ =
        NewGradientFlow(layout(), gradients(), comm(), InnerOptions(WithThresholds(config, power)));
    inner_->Rescale(unit_);
    if (config.mode() == CommConfig::SPARSE && begun_) {
      const SparseConfig& sparse = config.sparse();
      const double density =
          DensityAt(step(), options().total_steps, sparse.density(), sparse.warmup_fraction());
      inner_->Restore(AgreeOnFirstChunks(
          gradients(), ChunkGrid(layout().count(), sparse.chunk_size()), density, known, comm()));
    }
  }

  std::vector<Rung> ladder_;
  std::unique_ptr<GradientFlow> inner_;
  std::optional<StepNotes> notes_;    // until the ladder is priced; none in a world of one rank
  std::string noted_as_;              // the rung of the noted steps
  std::optional<TrialSteps> trials_;  // from then on until the choice
  ExchangeChoice choice_;
  ResidualHandover handover_;
  bool begun_ = false;   // the first step of a job that chooses
  bool used_ = false;    // a step has ended with inner_
  int handed_over_ = 0;  // entries of this step
  float unit_ = 1;       // product of all Rescale factors
};

GF_REGISTER(GradientFlowRegistry, "AUTO", AutoFlow);

}  // namespace
}  // namespace gf
