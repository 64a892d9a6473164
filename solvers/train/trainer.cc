#include "solvers/train/trainer.h"

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/agree.h"
#include "comm/choice/trials.h"
#include "core/error.h"
#include "core/readable.h"
#include "solvers/checkpoint/save.h"
#include "solvers/evaluate/evaluator.h"
#include "solvers/report/meter.h"
#include "solvers/train/due_events.h"
#include "solvers/train/image_size.h"
#include "solvers/train/signals.h"
#include "solvers/train/step_outcome.h"

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Note [Steps in flight]
// The host gives a step's work to the device and goes on. It asks for the results of the step (the
// loss, and whether the gradients were finite) only after the next step's forward pass is enqueued,
// so that the device never waits for the host. The next backward pass needs these results (the loss
// scale). Validation and checkpoints need them, too: they conclude the step first, before anything
// of the next step begins.

class Trainer {
 public:
  Trainer(const JobConfig& config, const TrainOptions& options, Communicator* comm);
  ~Trainer() { comm_->watchdog()->BeforeExit({}); }
  void Run();
  // After an error of this rank alone.
  void SaveLastStep() {
    if (parts_.keeper) parts_.keeper->Save();
  }

 private:
  // Enqueues a step and concludes the one before.
  void Step();
  void TakeSize();
  PendingLoss Forward(const Batch& batch, int64_t number);
  // Gives the gradients to the accumulator, after the last batch of a step to the flow.
  void Backward(bool last_batch);
  // After the last local step of a round.
  void EndRound();

  // Waits for what the host must know of the step in flight, if there is one. At the end of a round
  // the ranks tell each other.
  void Conclude();
  void ConcludeRound();
  // What is due at the end of a round.
  void BetweenRounds();
  // If a signal interrupts it, training stops.
  void Validate();
  void Save();
  // Prints a line about the steps since the last one, if there are any.
  void Show();
  void NoteTimeline() { parts_.report->Note("timeline: " + timeline_file_); }

  const JobConfig config_;
  const std::string timeline_file_;
  Communicator* const comm_;
  TrainingParts parts_;
  TrainingState& state_ = parts_.state;
  Meter meter_;
  double lr_ = 0;  // of the step that was concluded last
  int64_t validated_step_ = -1, saved_step_ = -1;
  std::optional<StepInFlight> in_flight_;
  std::vector<FinishedStep> round_;  // so far
  std::optional<DueEvents> due_;
  bool stop_ = false, checkpoint_ = false;  // a signal asks for it
};

Trainer::Trainer(const JobConfig& config, const TrainOptions& options, Communicator* comm)
    : config_(config), timeline_file_(options.timeline_file), comm_(comm) {
  SetUp(config, options, comm, &parts_);
  if (options.started) RunOnRankZero(comm, "the start of training", options.started);
  saved_step_ = state_.step;
  due_.emplace(config_, parts_.train.loader->size());
}

// Before a step whose images may have another size.
void Trainer::TakeSize() {
  if (parts_.sizes->FirstStepOf(state_.step) == parts_.size_step) return;
  Conclude();
  meter_.Pause();
  TakeImageSize(comm_, &parts_);
  meter_.Resume();
}

void Trainer::Step() {
  TakeSize();
  const int batches = parts_.batches->IterSize(state_.step);
  const int64_t batches_before = parts_.batches->BatchesBefore(state_.step);
  StepInFlight step;
  step.lr = parts_.rate->At(state_.step);
  step.images = parts_.batches->ImagesOf(state_.step);
  parts_.timeline->SetStep(state_.step + 1);
  parts_.update->Begin(step.lr);
  for (int i = 0; i < batches; ++i) {
    const bool last = i + 1 == batches;
    const Batch& batch = parts_.feed->Next();
    step.data_wait_s += parts_.feed->waited();
    step.position = parts_.feed->position();
    step.losses.push_back(Forward(batch, batches_before + i));
    if (i == 0) {
      Conclude();
      parts_.flow->BeginStep(state_.step);
    }
    Backward(last);
    if (!last || state_.step + 1 < parts_.last_step) parts_.feed->Prefetch();
  }
  parts_.update->Finish(step.lr, batches);
  ++state_.step;
  state_.position = step.position;
  state_.epoch =
      static_cast<double>(state_.position) / static_cast<double>(parts_.train.loader->size());
  if (parts_.flow->local() && parts_.flow->round_ends()) EndRound();
  parts_.store->BumpVersion();
  in_flight_ = std::move(step);
  // A device that shares the host's memory has finished the step already.
  if (parts_.device->shares_host_memory()) Conclude();
}

PendingLoss Trainer::Forward(const Batch& batch, int64_t number) {
  const Timeline::Span span(parts_.timeline.get(), lane::kForward, "forward");
  return parts_.train.net->Forward(batch,
                                   static_cast<uint64_t>(number) * comm_->size() + comm_->rank());
}

void Trainer::Backward(bool last_batch) {
  const Timeline::Span span(parts_.timeline.get(), lane::kBackward, "backward");
  const auto loss_factor = static_cast<float>(parts_.update->loss_factor());
  parts_.train.net->Backward(loss_factor, [&](const std::vector<int>& entries) {
    if (!last_batch) return parts_.accumulator->Add(entries);
    if (parts_.accumulator) parts_.accumulator->Merge(entries);
    parts_.flow->GradientsReady(entries);
  });
}

void Trainer::EndRound() {
  parts_.update->Conclude();
  // Until everything has come, a loss of ranks costs no step.
  if (parts_.keeper) parts_.keeper->StepDone(state_);
  parts_.flow->EndRound([this] {
    parts_.statistics->StepDone();
    if (parts_.keeper) parts_.keeper->BeginUpdate();
  });
}

void Trainer::Conclude() {
  if (!in_flight_) return;
  const StepInFlight step = *std::exchange(in_flight_, std::nullopt);
  parts_.update->Conclude();
  if (parts_.keeper) parts_.keeper->StepDone(state_);
  round_.push_back({step.lr, step.images, step.data_wait_s, parts_.flow->stats().exposed_s,
                    MeanLoss(step.losses)});
  if (parts_.flow->round_ends()) ConcludeRound();
}

void Trainer::ConcludeRound() {
  // The end of a round overwrites gradients with differences of weights.
  const ParameterStore* const gradients = parts_.flow->local() ? nullptr : parts_.store;
  const RoundOutcome outcome = AgreeOnOutcome(round_, state_.step, gradients, comm_);
  stop_ = stop_ || outcome.stop;
  checkpoint_ = checkpoint_ || outcome.checkpoint;
  for (size_t i = 0; i < round_.size(); ++i) {
    meter_.Step(round_[i].images, outcome.losses[i], round_[i].data_wait_s, round_[i].exposed_s);
  }
  lr_ = round_.back().lr;
  round_.clear();
  if (meter_.steps() >= config_.telemetry().display_interval() || state_.step == parts_.last_step) {
    Show();
  }
}

void Trainer::BetweenRounds() {
  const bool save = due_->save() || checkpoint_ || stop_;
  if (save || due_->validation() || state_.step == parts_.last_step) Conclude();
  if (stop_) return;
  if (due_->TakeSave() || checkpoint_) Save();
  if (std::exchange(checkpoint_, false)) ClearCheckpointRequest();
  if (due_->TakeValidation()) Validate();
}

void Trainer::Validate() {
  if (!parts_.validation.net || validated_step_ == state_.step) return;
  meter_.Pause();
  comm_->watchdog()->SetActivity(StrCat("validation after step ", state_.step));
  const Timeline::Span span(parts_.timeline.get(), lane::kValidation, "validation");
  parts_.flow->Settle();
  parts_.update->StepBack();
  parts_.statistics->Take();
  if (parts_.average) parts_.store->average()->SyncCompute();
  const auto start = Clock::now();
  if (parts_.mlperf_log) parts_.mlperf_log->StartEvaluation(state_.epoch);
  const std::unique_ptr<Tally> tally =
      Evaluate(parts_.validation.net.get(), parts_.validation.loader.get(), comm_, StopRequested);
  if (parts_.mlperf_log) parts_.mlperf_log->StopEvaluation(state_.epoch, tally.get());
  if (tally) {
    parts_.report->Validation(state_.step, state_.epoch, *tally, SecondsSince(start));
    validated_step_ = state_.step;
  } else {
    stop_ = true;
  }
  meter_.Resume();
}

void Trainer::Save() {
  if (!parts_.checkpoints || saved_step_ == state_.step) return;
  meter_.Pause();
  comm_->watchdog()->SetActivity(StrCat("checkpoint of step ", state_.step));
  const Timeline::Span span(parts_.timeline.get(), lane::kCheckpoint, "checkpoint");
  parts_.statistics->Take();
  const auto start = Clock::now();
  for (const auto& pool : parts_.solver->State()) parts_.flow->Complete(pool.second);
  parts_.flow->Settle();
  if (parts_.keeper) parts_.keeper->Saving();
  const std::string path = parts_.update->Unscaled([&] {
    return SaveCheckpoint(parts_.checkpoints.get(), state_, *parts_.store, *parts_.solver,
                          *parts_.flow, config_.comm().sparse(), comm_);
  });
  parts_.report->Checkpoint(state_.step, path, SecondsSince(start));
  saved_step_ = state_.step;
  if (parts_.keeper) parts_.keeper->Saved();
  meter_.Resume();
}

void Trainer::Show() {
  if (meter_.steps() == 0) return;
  TrainRecord record;
  record.step = state_.step;
  record.max_steps = parts_.last_step;
  record.epoch = state_.epoch;
  record.lr = lr_;
  meter_.Close(&record);
  parts_.report->Train(record);
}

void Trainer::Run() {
  meter_.Resume();
  // No checkpoint is of step 0.
  if (config_.validate_at_start() && state_.step == 0) Validate();
  // A round goes to its end before a signal stops training.
  const auto stops = [&] { return stop_ && parts_.flow->round_ends(); };
  while (state_.step < parts_.last_step && !stops()) {
    Step();
    if (state_.step < parts_.last_step) parts_.device->Settle();
    due_->StepDone(state_.step, parts_.batches->ImagesOf(state_.step - 1), state_.position);
    if (parts_.flow->round_ends()) BetweenRounds();
    if (stops()) break;
    if (parts_.timeline_writer->AfterStep(state_.step)) NoteTimeline();
  }
  Show();
  const bool chooses = config_.comm().mode() == CommConfig::AUTO && comm_->size() > 1 &&
                       parts_.store->layout().count() > 0;
  if (chooses && !stop_ && state_.exchange.empty()) {
    parts_.report->Note(
        StrCat("training ended before comm.mode AUTO had chosen, which takes up to ",
               kMostStepsToChoose, " steps: set a mode for a job this short"));
  }
  Save();
  if (!stop_) Validate();
  if (parts_.timeline_writer->AtEnd()) NoteTimeline();
  if (const int64_t skipped = parts_.train.loader->skipped()) {
    const bool replaced = config_.train_data().on_error() == DataConfig::REPLACE;
    parts_.report->Note(StrCat("damaged samples ", replaced ? "replaced" : "left out",
                               " (on_error: ", replaced ? "REPLACE" : "SKIP",
                               "): ", WithCommas(skipped)));
  }
  if (stop_) {
    const std::string words = state_.step == 0 ? "no step was done: start again"
                              : parts_.checkpoints
                                  ? "continue with the same command and --resume"
                                  : "no checkpoint was written: checkpoint.dir is not set";
    parts_.report->Note(words);
    if (parts_.keeper) {
      parts_.keeper->Stopped(StrCat("stopped after step ", state_.step, "; ", words));
    }
  }
  if (parts_.mlperf_log) parts_.mlperf_log->StopRun(!stop_);
  parts_.report->End(state_.step, state_.epoch,
                     stop_ ? "stopped by a signal" : "training has ended");
}

}  // namespace

void Train(const JobConfig& config, const TrainOptions& options, Communicator* comm) {
  Trainer trainer(config, options, comm);
  try {
    trainer.Run();
  } catch (const AgreedError&) {
    throw;
  } catch (const std::exception&) {
    trainer.SaveLastStep();
    throw;
  }
}

}  // namespace gf
