#include "solvers/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "comm/agree.h"
#include "comm/flow/gradient_flow.h"
#include "comm/group_sum.h"
#include "core/error.h"
#include "core/telemetry/telemetry.h"
#include "solvers/accumulator.h"
#include "solvers/batch_schedule.h"
#include "solvers/checkpoint/checkpoint_folder.h"
#include "solvers/checkpoint/residuals.h"
#include "solvers/evaluate/evaluator.h"
#include "solvers/loss_scaler.h"
#include "solvers/lr_policy.h"
#include "solvers/report/config_table.h"
#include "solvers/report/meter.h"
#include "solvers/report/report.h"
#include "solvers/report/run_folder.h"
#include "solvers/report/timeline_writer.h"
#include "solvers/train/job.h"
#include "solvers/train/signals.h"
#include "solvers/train/statistics.h"
#include "solvers/train/step_update.h"

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Whether a multiple of `interval` lies in (before, now]; forgives rounding.
bool Passes(double before, double now, double interval) {
  constexpr double kForgive = 1 + 1e-12;
  if (!(interval > 0)) return false;
  return std::floor(now * kForgive / interval) > std::floor(before * kForgive / interval);
}

// With which gradients its buckets are complete.
std::vector<int> LastEntries(const GradientFlow& flow) {
  std::vector<int> entries;
  for (const Bucket& bucket : flow.Buckets()) entries.push_back(bucket.last_entry);
  return entries;
}

// Note [Steps in flight]
// The host gives a step's work to the device and goes on: what it learns of the step, loss and
// whether its gradients were finite, it asks for after the next step's forward pass is enqueued, so
// that the device never waits for it. Backward needs the answer (the loss scale), and so does
// whatever judges or saves a step: it concludes it first, with nothing of the next begun.

// A step whose work is enqueued.
struct StepInFlight {
  double lr = 0;
  int64_t images = 0;  // of all ranks
  double data_wait_s = 0;
  std::vector<PendingLoss> losses;  // of its batches
};

// What the ranks tell each other after a step.
struct StepOutcome {
  double loss = 0;       // mean over ranks
  int64_t diverged = 0;  // ranks whose loss is not finite
  bool stop = false, checkpoint = false;
};

class Trainer {
 public:
  Trainer(const JobConfig& config, const TrainOptions& options, Communicator* comm);
  void Run();

 private:
  void Announce(const JobOptions& job_options);
  void FetchBatch();
  // Fetches what travels while the device computes, if it is there.
  void Prefetch();
  PendingLoss Forward(uint64_t sequence);
  // Enqueues a step and concludes the one before.
  void Step();
  // Waits for what the host must know of the step in flight, if there is one.
  void Conclude();
  StepOutcome Exchange(double loss);
  // Whether an event that is due every `interval` steps, or images, is due after this step.
  bool DueBySteps(double interval) const;
  bool DueByEpochs(double interval) const;
  // Returns false if a signal interrupted it.
  bool Validate();
  void Save();
  void Show(double lr);
  void NoteTimeline() { report_->Note("timeline: " + options_.timeline_file); }
  double epoch() const {
    return static_cast<double>(state_.position) / static_cast<double>(images_);
  }

  const JobConfig config_;
  const TrainOptions options_;
  Communicator* const comm_;
  std::unique_ptr<Report> report_;
  Job job_;
  int64_t images_ = 0;
  std::unique_ptr<BatchSchedule> batches_;
  std::unique_ptr<LearningRate> rate_;
  std::unique_ptr<GroupSum> batch_norm_group_;
  std::unique_ptr<GradientFlow> flow_;
  std::unique_ptr<StepUpdate> update_;
  std::unique_ptr<Accumulator> accumulator_;
  std::unique_ptr<StatisticsMean> statistics_;
  std::unique_ptr<CheckpointFolder> checkpoints_;
  SignalWatch signals_;
  Meter meter_;
  Timeline timeline_;
  TimelineWriter timeline_writer_;

  TrainingState state_;
  int64_t last_step_ = 0;
  int64_t validated_step_ = -1, saved_step_ = -1;
  const Batch* batch_ = nullptr;  // the next one; null: not fetched yet
  std::optional<StepInFlight> in_flight_;
  bool stop_ = false, checkpoint_ = false;  // a signal asks for it
};

Trainer::Trainer(const JobConfig& config, const TrainOptions& options, Communicator* comm)
    : config_(config),
      options_(options),
      comm_(comm),
      timeline_(comm->rank(), comm->host(), options.timeline_steps),
      timeline_writer_(&timeline_, options.timeline_steps, options.timeline_file, comm,
                       [this] { flow_->Settle(); }) {
  comm->watchdog()->WatchSignals(SignalWatch::StopRequested);
  CheckSameConfig(config, comm);
  AgreeOnErrors(comm, "opening the log", [&] {
    report_ = std::make_unique<Report>(LogPath(config), config.telemetry().tensorboard(),
                                       comm->rank() == 0);
  });
  JobOptions job_options =
      MakeJobOptions(config, options.deterministic, options.start.threads, *comm);
  AgreeOnErrors(comm, "batch_norm_group",
                [&] { batch_norm_group_ = NewGroupSum(config.batch_norm_group(), comm); });
  job_options.net.batch_norm_group = batch_norm_group_.get();
  AgreeOnErrors(comm, "opening the device", [&] {
    job_.device = DeviceRegistry::Get().Create("device", config.device(), options.start.threads);
  });
  // Before the net is built: GPUs connect meanwhile.
  std::shared_ptr<GradientTransport> transport;
  AgreeOnErrors(comm, "connecting the devices", [&] {
    transport = NewGradientTransport(config.comm(), options.deterministic, job_.device.get(), comm);
  });
  AgreeOnErrors(comm, "building the net", [&] { BuildJob(config, job_options, &job_); });

  images_ = job_.train.loader->size();
  batches_ = std::make_unique<BatchSchedule>(
      config.solver(), images_, int64_t{config.train_data().batch_size()} * comm->size());
  AgreeOnErrors(comm, "preparing the loop", [&] {
    rate_ = std::make_unique<LearningRate>(config.solver(), *batches_);
    GradientFlowOptions flow;
    flow.config = config.comm();
    flow.deterministic = options.deterministic;
    flow.total_steps = rate_->max_steps();
    flow.momentum = config.solver().momentum();
    flow.device = job_.device.get();
    flow.timeline = &timeline_;
    flow.transport = transport;
    flow.master = job_.store->master();
    flow.weights_changed = [this] { job_.store->SyncCompute(); };
    flow_ = NewGradientFlow(job_.store->layout(), job_.store->gradient(), comm, flow);
    if (!config.comm().threshold_auto()) job_.train.net->SetBucketEnds(LastEntries(*flow_));
    update_ = std::make_unique<StepUpdate>(
        config, comm->size(),
        StepUpdate::Parts{job_.store, job_.solver.get(), flow_.get(), &timeline_, &state_,
                          [this](const std::string& text) { report_->Note(text); }});
    if (batches_->largest_iter_size() > 1) accumulator_ = std::make_unique<Accumulator>(job_.store);
  });
  statistics_ = std::make_unique<StatisticsMean>(job_.store, comm, options.deterministic);
  last_step_ = rate_->max_steps();
  if (options.stop_step > 0) last_step_ = std::min(last_step_, options.stop_step);

  Announce(job_options);
  if (!config.checkpoint().dir().empty()) {
    checkpoints_ =
        std::make_unique<CheckpointFolder>(config.checkpoint().dir(), config.checkpoint().keep());
    RunOnRankZero(comm, "preparing the checkpoints' folder", [&] {
      checkpoints_->Prepare(CheckpointBytes(*job_.store, *job_.solver) +
                            ResidualBytes(*flow_, *job_.store, comm->size()));
    });
  }
  state_ = LoadStart(config, options.start, job_, flow_.get(), comm,
                     [&](const std::string& text) { report_->Note(text); });
  CheckSameNet(job_, comm);
  update_->Restore();
  state_.seed = config.seed();
  state_.world = comm->size();
  state_.threads = options.start.threads;
  state_.solver = config.solver().type();
  state_.net = job_.train.net->name();
  state_.config = config.DebugString();
  saved_step_ = state_.step;
  job_.train.loader->Seek(state_.position);
}

void Trainer::Announce(const JobOptions& job_options) {
  std::vector<std::pair<std::string, std::string>> rows = ConfigTable(config_);
  for (auto& row : rows) {
    if (row.first == "threads") row.second = StrCat(job_options.threads);
  }
  std::vector<std::string> hosts = comm_->hosts();
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  const Net& net = *job_.train.net;
  rows.emplace_back("deterministic", options_.deterministic ? "yes" : "no");
  rows.emplace_back(
      "ranks", StrCat(comm_->size(), " on ", hosts.size(), hosts.size() == 1 ? " host" : " hosts"));
  rows.emplace_back("processor", job_.device->Description());
  rows.emplace_back("training data", job_.train.loader->Describe());
  if (job_.validation.loader) {
    rows.emplace_back("validation data", job_.validation.loader->Describe());
  }
  rows.emplace_back("decoding threads per rank", StrCat(job_.train.loader->workers()));
  if (const int64_t places = job_.train.loader->device_places()) {
    const auto bytes = static_cast<double>(places * job_.train.loader->image_bytes());
    rows.emplace_back("images kept on the device",
                      StrCat("up to ", WithCommas(places), " per rank, ", HumanBytes(bytes)));
  }
  rows.emplace_back("network", StrCat(net.name(), ", input ", net.input_shape().ToString(), ", ",
                                      net.classes(), " classes"));
  rows.emplace_back("parameters", StrCat(WithCommas(job_.store->layout().parameter_count()), " in ",
                                         job_.store->layout().entries().size(), " tensors"));
  rows.emplace_back("memory of activations",
                    StrCat(HumanBytes(static_cast<double>(net.arena_bytes())), " per rank"));
  rows.emplace_back("allreduce", flow_->Describe());
  const int64_t images_per_step = batches_->ImagesOf(0);
  rows.emplace_back("images per step",
                    WithCommas(images_per_step) + (batches_->constant() ? "" : " at first"));
  rows.emplace_back("steps per epoch",
                    StrCat(static_cast<double>(images_) / static_cast<double>(images_per_step)));
  rows.emplace_back("steps", StrCat(WithCommas(rate_->max_steps()), ", warm-up ",
                                    WithCommas(rate_->warmup_steps())));
  if (last_step_ < rate_->max_steps()) {
    rows.emplace_back("stops after step", WithCommas(last_step_));
  }
  report_->Start(rows);
}

void Trainer::FetchBatch() {
  batch_ = &job_.train.loader->Next();
  job_.train.net->Stage(*batch_);
}

void Trainer::Prefetch() {
  // Gradients and updates do not wait for data.
  if (!job_.train.loader->Ready()) return;
  try {
    FetchBatch();
  } catch (const UserError&) {
    // Damaged data. The step that needs them meets the error again, after this one was saved.
  }
}

PendingLoss Trainer::Forward(uint64_t sequence) {
  const Timeline::Span span(&timeline_, lane::kForward, "forward");
  return job_.train.net->Forward(*std::exchange(batch_, nullptr), sequence);
}

void Trainer::Step() {
  const int micro_batches = batches_->IterSize(state_.step);
  const int64_t batches_before = batches_->BatchesBefore(state_.step);
  StepInFlight step;
  step.lr = rate_->At(state_.step);
  step.images = batches_->ImagesOf(state_.step);
  int64_t position = 0;  // behind its batches
  timeline_.SetStep(state_.step + 1);
  for (int i = 0; i < micro_batches; ++i) {
    {
      const Timeline::Span span(&timeline_, lane::kDataWait, "data");
      if (batch_ == nullptr) FetchBatch();
    }
    step.data_wait_s += job_.train.loader->waited();
    position = job_.train.loader->position();
    const uint64_t sequence =
        static_cast<uint64_t>(batches_before + i) * comm_->size() + comm_->rank();
    step.losses.push_back(Forward(sequence));
    if (i == 0) {
      Conclude();
      flow_->BeginStep(state_.step);
    }
    const bool last = i + 1 == micro_batches;
    {
      const Timeline::Span span(&timeline_, lane::kBackward, "backward");
      const auto loss_factor = static_cast<float>(update_->loss_factor());
      job_.train.net->Backward(loss_factor, [&](const std::vector<int>& entries) {
        if (!last) return accumulator_->Add(entries);
        if (accumulator_) accumulator_->Merge(entries);
        flow_->GradientsReady(entries);
      });
    }
    if (!last || state_.step + 1 < last_step_) Prefetch();
  }
  update_->Finish(step.lr, micro_batches);
  job_.store->BumpVersion();
  statistics_->StepDone();
  ++state_.step;
  state_.position = position;
  state_.epoch = epoch();
  in_flight_ = std::move(step);
  // What shares the host's memory has done it all.
  if (job_.device->shares_host_memory()) Conclude();
}

void Trainer::Conclude() {
  if (!in_flight_) return;
  const StepInFlight step = *std::exchange(in_flight_, std::nullopt);
  update_->Conclude();
  double loss = 0;
  step.losses.back().Value();  // then the others have come, too
  for (const PendingLoss& part : step.losses) {
    loss += part.Value() / static_cast<double>(step.losses.size());
  }
  const StepOutcome outcome = Exchange(loss);
  if (outcome.diverged > 0) {
    const std::string layer = LayerWithBadGradient(*job_.store);
    throw AgreedError(StrCat(
        layer.empty() ? "" : "gradients are not finite, first in layer \"" + layer + "\", and ",
        "the loss is not finite (", loss, ") on ", outcome.diverged, " of ", comm_->size(),
        " ranks in step ", state_.step, ", learning rate ", step.lr,
        ": training has diverged. Lower solver.base_lr or lengthen the warm-up, and check mean and "
        "std of the data; --resume continues from the last checkpoint"));
  }
  stop_ = stop_ || outcome.stop;
  checkpoint_ = checkpoint_ || outcome.checkpoint;
  meter_.Step(step.images, outcome.loss, step.data_wait_s, flow_->stats().exposed_s);
  if (meter_.steps() >= config_.telemetry().display_interval() || state_.step == last_step_) {
    Show(step.lr);
  }
}

StepOutcome Trainer::Exchange(double loss) {
  const bool finite = std::isfinite(loss);
  double values[4] = {finite ? loss : 0, finite ? 0.0 : 1.0, signals_.stop_requested() ? 1.0 : 0.0,
                      signals_.checkpoint_requested() ? 1.0 : 0.0};
  comm_->AllReduce(values, 4, ReduceOp::kSum, StrCat("loss of step ", state_.step));
  StepOutcome outcome;
  outcome.loss = values[0] / comm_->size();
  outcome.diverged = static_cast<int64_t>(values[1]);
  outcome.stop = values[2] > 0;
  outcome.checkpoint = values[3] > 0;
  return outcome;
}

bool Trainer::DueBySteps(double interval) const {
  return Passes(static_cast<double>(state_.step - 1), static_cast<double>(state_.step), interval);
}

bool Trainer::DueByEpochs(double interval) const {
  const auto images = static_cast<double>(batches_->ImagesOf(state_.step - 1));
  const auto position = static_cast<double>(state_.position);
  return Passes(position - images, position, interval * static_cast<double>(images_));
}

bool Trainer::Validate() {
  if (!job_.validation.net || validated_step_ == state_.step) return true;
  meter_.Pause();
  comm_->watchdog()->SetActivity(StrCat("validation after step ", state_.step));
  const Timeline::Span span(&timeline_, lane::kValidation, "validation");
  flow_->Settle();
  statistics_->Take();
  const auto start = Clock::now();
  const std::optional<Tally> tally =
      Evaluate(job_.validation.net.get(), job_.validation.loader.get(), comm_,
               [&] { return signals_.stop_requested(); });
  if (tally) {
    report_->Validation(state_.step, state_.epoch, *tally, SecondsSince(start));
    validated_step_ = state_.step;
  }
  meter_.Resume();
  return tally.has_value();
}

void Trainer::Save() {
  if (!checkpoints_ || saved_step_ == state_.step) return;
  meter_.Pause();
  comm_->watchdog()->SetActivity(StrCat("checkpoint of step ", state_.step));
  const Timeline::Span span(&timeline_, lane::kCheckpoint, "checkpoint");
  statistics_->Take();
  const auto start = Clock::now();
  for (const auto& state : job_.solver->State()) flow_->Complete(state.second);
  flow_->Settle();
  const std::string path = update_->Unscaled([&] {
    return SaveCheckpoint(checkpoints_.get(), state_, *job_.store, *job_.solver, *flow_,
                          config_.comm().sparse(), comm_);
  });
  report_->Checkpoint(state_.step, path, SecondsSince(start));
  saved_step_ = state_.step;
  meter_.Resume();
}

void Trainer::Show(double lr) {
  TrainRecord record;
  record.step = state_.step;
  record.max_steps = last_step_;
  record.epoch = state_.epoch;
  record.lr = lr;
  meter_.Close(&record);
  report_->Train(record);
}

void Trainer::Run() {
  const CheckpointConfig& checkpoint = config_.checkpoint();
  const auto checkpoint_steps = static_cast<double>(checkpoint.interval_steps());
  bool stopped = false;
  meter_.Resume();
  while (state_.step < last_step_ && !stopped) {
    Step();
    if (state_.step < last_step_) job_.device->Settle();
    const bool save = DueByEpochs(checkpoint.interval_epochs()) || DueBySteps(checkpoint_steps) ||
                      checkpoint_ || stop_;
    const bool validate = DueByEpochs(config_.validation_interval_epochs());
    if (save || validate || state_.step == last_step_) Conclude();
    stopped = stop_;
    if (save || checkpoint_ || stopped) Save();
    if (std::exchange(checkpoint_, false)) signals_.ClearCheckpointRequest();
    if (validate && !stopped) stopped = !Validate();
    if (timeline_writer_.AfterStep(state_.step)) NoteTimeline();
  }
  Save();
  if (!stopped) stopped = !Validate();
  if (timeline_writer_.AtEnd()) NoteTimeline();
  if (const int64_t skipped = job_.train.loader->skipped()) {
    report_->Note(StrCat("damaged samples left out (on_error: SKIP): ", WithCommas(skipped)));
  }
  if (stopped && !checkpoints_) {
    report_->Note("no checkpoint was written: checkpoint.dir is not set");
  }
  report_->End(state_.step, state_.epoch, stopped ? "stopped by a signal" : "training has ended");
}

}  // namespace

void Train(const JobConfig& config, const TrainOptions& options, Communicator* comm) {
  RunOnRankZero(comm, "telemetry.run_dir",
                [&] { PrepareRunFolder(config, !options.start.resume.empty()); });
  Trainer trainer(config, options, comm);
  trainer.Run();
}

}  // namespace gf
