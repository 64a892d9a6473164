#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "comm/choice/arithmetic_probe.h"
#include "comm/choice/ladder.h"
#include "comm/choice/measured_costs.h"
#include "comm/choice/rung_choice.h"
#include "comm/choice/rung_price.h"
#include "comm/choice/step_notes.h"
#include "comm/flow/gradient_flow.h"
#include "comm/pack/range_packer.h"
#include "comm/price/bucket_schedule.h"
#include "comm/sparse/chunks.h"
#include "comm/wire/wire.h"
#include "core/error.h"

namespace gf {
namespace {

// Note [AUTO]
// A flow of another mode does the work while the first steps are noted (Note [Noted steps]): LAZY,
// or where that would take seconds, factors of rank 1. What these have kept is added to the
// gradients of the step after. Then the flow of the rung that Note [Which rung] takes does the
// work. Prices come from the same schedules and the same model of a step as the simulator's
// (comm/price/), with measured times: of compute, of collectives on these links, and of each
// compressor's arithmetic on this rank. All times are agreed, and rank 0's decision counts, so that
// all ranks take the same rung. The choice is made before backward of a step, when the gradients of
// the step before are worth nothing more.
class AutoFlow : public GradientFlow {
 public:
  AutoFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
           const GradientFlowOptions& options)
      : GradientFlow(layout, gradients, comm, options) {
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
    noted_as_ = FirstRung().name;
    GradientFlowOptions lazy = this->options();
    lazy.config = FirstRung().config;
    inner_ = GradientFlowRegistry::Get().Create("comm.mode", "LAZY", layout, gradients, comm, lazy);
    if (comm->size() > 1 && !layout.entries().empty()) {
      notes_.emplace(static_cast<int>(layout.entries().size()));
    }
  }

  void Measure() override { inner_->Measure(); }
  std::vector<Bucket> Buckets() const override { return inner_->Buckets(); }
  const CommStats& stats() const override { return inner_->stats(); }
  // Without what light noted steps keep: a job that resumes at one of these measures anew.
  std::vector<std::pair<std::string, Tensor>> State() const override {
    if (notes_) return {};
    return inner_->State();
  }
  Tensor shared_state() const override { return inner_->shared_state(); }
  std::vector<bool> carries_momentum() const override { return inner_->carries_momentum(); }
  DecaySteps decay_steps() const override { return inner_->decay_steps(); }
  std::vector<int64_t> important_chunks() const override { return inner_->important_chunks(); }
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
        Take(rung, power);
        return true;
      }
    }
    return false;
  }

 protected:
  void OnBegin() override {
    if (notes_ && notes_->complete()) Choose();
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
    if (!notes_) {
      merger_.reset();
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
  // Of all gradients in their own type: four would let the user wait for long.
  static constexpr double kLongExchange_s = 3;

  // LAZY in the gradients' type.
  const Rung& FirstRung() const {
    return *std::find_if(ladder_.begin(), ladder_.end(),
                         [](const Rung& rung) { return rung.obstacle.empty(); });
  }

  // What sends few bytes from the first step on and lets the solver update everything.
  const Rung& LightRung() const {
    for (const CommConfig::Mode mode : {CommConfig::LOW_RANK, CommConfig::QUANTIZED}) {
      for (auto rung = ladder_.rbegin(); rung != ladder_.rend(); ++rung) {
        if (rung->config.mode() == mode && rung->obstacle.empty()) return *rung;
      }
    }
    return FirstRung();
  }

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
    const Rung& rung = LightRung();
    GradientFlowOptions own = InnerOptions(rung.config);
    own.config.mutable_low_rank()->set_warmup_fraction(0);
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

  bool noted_light() const { return noted_as_ != FirstRung().name; }

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
    if (merger_) merger_->Merge(first, handed_over_);
    inner_->GradientsReady(entries);
  }

  DType WireOf(const CommConfig& config) const {
    return WireTypeOf(config, gradients().desc.dtype);
  }

  // `important`: SPARSE's chunks, if this rank knows some.
  BucketSchedule ScheduleFor(const CommConfig& config,
                             const std::vector<int64_t>& important = {}) const {
    if (!important.empty()) {
      const ChunkGrid grid(layout().count(), config.sparse().chunk_size());
      return SparseSchedule(layout(), config, static_cast<int64_t>(SizeOf(WireOf(config))),
                            ChunkSet(grid, important));
    }
    return ScheduleOf(layout(), config, WireOf(config), comm()->size(), DensityOf(config));
  }

  // Prices a rung with the thresholds that make the shortest step.
  void Price(const CommConfig& config, const ProbedCompressor& probed, StepSetup* setup,
             MeasuredCosts* costs, PricedRung* rung) {
    setup->measured = probed.seconds;
    costs->SetWire(WireOf(config));
    setup->wire_bytes = static_cast<int64_t>(SizeOf(WireOf(config)));
    for (const int power : ThresholdPowers(options().config)) {
      PricedRung other = *rung;
      other.power = power;
      PriceRung(*setup, ScheduleFor(WithThresholds(config, power), probed.important_chunks), costs,
                &other);
      if (IsWorthIt(other.step, *rung)) *rung = other;
    }
  }

  // The arithmetic of the slowest rank; nothing if a rank lacks the memory. Collective.
  std::optional<ProbedCompressor> AgreeOnArithmetic(const Rung& rung) {
    auto mine = ProbeArithmetic(rung.config, layout(), gradients(), comm(), options());
    const CompressorSeconds own = mine.value_or(ProbedCompressor()).seconds;
    double most[] = {own.before, own.sum, own.after, own.last, mine ? 0.0 : 1.0};
    comm()->AllReduce(most, 5, ReduceOp::kMax, "arithmetic of " + rung.name);
    if (most[4] > 0) return std::nullopt;
    mine->seconds = {most[0], most[1], most[2], most[3]};
    return mine;
  }

  // Prices the ladder; the same on all ranks, but for their own important chunks. Collective.
  ExchangeChoice Priced(const StepFacts& facts) {
    const BucketSchedule lazy = ScheduleFor(FirstRung().config);
    const auto element = static_cast<int64_t>(SizeOf(WireOf(FirstRung().config)));
    MeasuredCosts costs(options().config.algorithm(), gradients().desc.dtype,
                        LongestOf(inner_->Buckets()) * element, transport(), comm());
    if (!noted_light()) costs.Scale(LinkFactor(facts, lazy, element, &costs));
    StepSetup setup = SetupOf(facts, layout());
    ExchangeChoice choice;
    choice.step = step();
    choice.limit = options().config.auto_().exposed();
    choice.slower = options().config.auto_().slower();
    choice.compute = facts.outside + facts.end + facts.update;
    choice.noted = noted_as_;
    choice.noted_step = facts.step;
    for (const Rung& rung : ladder_) {
      PricedRung priced;
      priced.name = rung.name;
      priced.verdict = rung.obstacle;
      if (rung.obstacle.empty()) {
        const auto probed = AgreeOnArithmetic(rung);
        priced.verdict = "not enough memory";
        if (probed) Price(rung.config, *probed, &setup, &costs, &priced);
      }
      choice.rungs.push_back(std::move(priced));
    }
    return choice;
  }

  void Choose() {
    comm()->watchdog()->SetActivity("the choice of comm.mode AUTO");
    StepFacts facts = notes_->Agree(comm());
    if (noted_light()) {
      // It contains the compressor's arithmetic and hardly any collectives, so it does not show how
      // much these slow compute.
      facts.end_beside = facts.end;
      AddResidual();
    }
    ExchangeChoice choice = Priced(facts);
    for (;;) {
      ChooseRung(&choice);
      std::string chosen = StrCat(choice.chosen, " ", choice.rungs[choice.chosen].power);
      comm()->Broadcast(&chosen, 0, "the choice of comm.mode AUTO");
      std::istringstream words(chosen);
      words >> choice.chosen;
      PricedRung* const rung = &choice.rungs[choice.chosen];
      words >> rung->power;
      Take(ladder_[choice.chosen], rung->power);
      // A flow that keeps nothing needs no more room than the job has had so far.
      if (!options().objection || inner_->State().empty()) break;
      const std::string objection = options().objection(*inner_);
      if (objection.empty()) break;
      // All compressors keep about as much.
      for (size_t i = 0; i < ladder_.size(); ++i) {
        if (ladder_[i].config.mode() == CommConfig::LAZY || !choice.rungs[i].priced) continue;
        choice.rungs[i].priced = false;
        choice.rungs[i].verdict = objection;
      }
    }
    if (options().chosen) options().chosen(choice);
  }

  // Replaces the inner flow by a new flow with the config of the rung; collective.
  void Take(const Rung& rung, int power) {
    if (notes_ && notes_->complete()) KeepResidual();
    notes_.reset();
    inner_.reset();
    const GradientFlowOptions own = InnerOptions(WithThresholds(rung.config, power));
    inner_ = NewGradientFlow(layout(), gradients(), comm(), own);
    inner_->Rescale(unit_);
  }

  // Adds the residual to the last sums, so that probes see numbers like those of a whole step.
  void AddResidual() {
    const Tensor residual = inner_->residual();
    if (residual.data == nullptr) return;
    const WireFunctions& wire = WireFor(gradients().desc.dtype, DType::kFP32);
    wire.add(residual.data, gradients().data, layout().count());
  }

  // The gradients of this step will carry the residual of the noted steps.
  void KeepResidual() {
    const Tensor residual = inner_->residual();
    if (residual.data == nullptr) return;
    PackedRanges merged;
    merged.pool = gradients();
    merged.residual = residual;
    for (const PoolEntry& entry : layout().entries()) {
      merged.ranges.push_back({entry.offset, entry.offset + entry.count});
    }
    Device* const device = options().device;
    merger_ = RangePackerRegistry::Get().Create("device of comm.mode: AUTO", device->name(), device,
                                                merged);
  }

  std::vector<Rung> ladder_;
  std::unique_ptr<GradientFlow> inner_;
  std::optional<StepNotes> notes_;       // until the choice; none in a world of one rank
  std::string noted_as_;                 // the rung of the noted steps
  bool begun_ = false;                   // the first step
  int handed_over_ = 0;                  // entries of this step
  std::unique_ptr<RangePacker> merger_;  // of KeepResidual, during one step
  float unit_ = 1;                       // product of all Rescale factors
};

GF_REGISTER(GradientFlowRegistry, "AUTO", AutoFlow);

}  // namespace
}  // namespace gf
