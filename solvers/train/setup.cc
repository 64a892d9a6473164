#include "solvers/train/setup.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "comm/agree.h"
#include "comm/flow/gradient_transport.h"
#include "comm/group_sum.h"
#include "models/job_net.h"
#include "solvers/checkpoint/class_names.h"
#include "solvers/checkpoint/save.h"
#include "solvers/report/announce.h"
#include "solvers/report/run_folder.h"
#include "solvers/train/advice.h"
#include "solvers/train/image_size.h"
#include "solvers/train/prediction_files.h"
#include "solvers/train/same_job.h"
#include "solvers/train/signals.h"

namespace gf {
namespace {

// The files that the job writes from its first step on, and the device.
void Open(const JobConfig& config, const TrainOptions& options, Communicator* comm,
          TrainingParts* parts) {
  CheckSameConfig(config, comm);
  if (!config.telemetry().run_dir().empty()) {
    RunOnRankZero(comm, "preparing telemetry.run_dir", [&] {
      parts->run_folder = PrepareRunFolder(config, !options.start.resume.empty());
    });
  }
  AgreeOnErrors(comm, "opening the log and the device", [&] {
    parts->report = std::make_unique<Report>(LogPath(config), config.telemetry().tensorboard(),
                                             comm->rank() == 0);
    if (!options.mlperf_log.empty() && comm->rank() == 0) {
      parts->mlperf_log =
          std::make_unique<MlperfLog>(options.mlperf_log, !options.start.resume.empty());
    }
    parts->batch_norm_group = NewGroupSum(config.batch_norm_group(), comm);
    parts->device = DeviceRegistry::Get().Create("device", config.device(), options.threads);
  });
  CheckSameProducts(config.solver(), *parts->device, comm);
  parts->timeline = std::make_unique<Timeline>(comm->rank(), comm->host(), options.timeline_steps);
  parts->timeline_writer = std::make_unique<TimelineWriter>(
      parts->timeline.get(), options.timeline_steps, options.timeline_file, comm,
      [parts] { parts->flow->Settle(); });
}

// Data sets, nets, their parameters (initialized from the seed), and what updates them when.
void BuildNets(const JobConfig& config, const TrainOptions& options, Communicator* comm,
               TrainingParts* parts) {
  Device* const device = parts->device.get();
  BuildOptions& build = parts->build;
  build.net = NetOptionsOf(config, TRAIN);
  build.rank = comm->rank();
  build.world = comm->size();
  build.threads = options.threads;
  build.net.deterministic = options.deterministic;
  build.net.batch_norm_group = parts->batch_norm_group.get();
  // First, because GPUs connect while the net is built.
  parts->transport = NewGradientTransport(config.comm(), options.deterministic, device, comm);
  AgreeOnErrors(comm, "building the net", [&] {
    parts->source = ReadJobNet(config);
    parts->train =
        BuildDataAndNet(config.train_data(), parts->source, TRAIN, build, nullptr, device);
    const std::shared_ptr<ParameterStore>& parameters = parts->train.net->parameters();
    parts->store = parameters.get();
    const bool averages = config.solver().average().decay() > 0;
    if (averages) parts->store->AddAverage();
    if (config.has_validation_data()) {
      BuildOptions test = build;
      test.class_names = parts->train.loader->class_names();
      test.trained_classes = parts->train.loader->classes();
      parts->validation = BuildDataAndNet(config.validation_data(), parts->source, TEST, test,
                                          averages ? parts->store->average() : parameters, device);
    }
    parts->solver = NewSolver("solver.type", config.solver().type(), config.solver(), parts->store);
    parts->solver->set_record(config.cuda_graphs());
    parts->train.net->InitParameters();
    parts->batches =
        std::make_unique<BatchSchedule>(config.solver(), parts->train.loader->size(),
                                        int64_t{config.train_data().batch_size()} * comm->size());
    parts->sizes = std::make_unique<SizeSchedule>(config.train_data(), *parts->batches);
    if (config.train_data().size_phase_size() > 0) CheckSizes(*parts);
    parts->rate = std::make_unique<LearningRate>(config.solver(), *parts->batches);
    if (averages) {
      parts->average = std::make_unique<WeightAverage>(config.solver().average(),
                                                       parts->rate->max_steps(), parts->store);
    }
  });
  if (comm->rank() == 0) WarnAtStart(config, parts->store->layout(), comm->size());
  parts->feed = std::make_unique<BatchFeed>(parts->train.loader.get(), parts->train.net.get(),
                                            parts->timeline.get());
  parts->last_step = parts->rate->max_steps();
  if (options.stop_step > 0) parts->last_step = std::min(parts->last_step, options.stop_step);
}

// Why the last complete step cannot be saved in the middle of the next one; empty if it can.
std::string WhyStepsAreNotKept(const JobConfig& config, bool deterministic,
                               const TrainingParts& parts) {
  if (config.checkpoint().dir().empty()) return "checkpoint.dir is not set";
  if (!config.checkpoint().keep_last_step()) return "checkpoint.keep_last_step is false";
  if (config.comm().sharded_update()) {
    return "comm.sharded_update spreads the optimizer's state over the ranks";
  }
  if (!parts.device->shares_host_memory()) return "the weights are in the memory of the GPU";
  if (deterministic && !parts.flow->State().empty()) {
    return "a run with --deterministic cannot go on without what each rank keeps for itself";
  }
  return "";
}

// The numbers of the gradients that complete the flow's buckets.
std::vector<int> LastEntries(const GradientFlow& flow) {
  std::vector<int> entries;
  for (const Bucket& bucket : flow.Buckets()) entries.push_back(bucket.last_entry);
  return entries;
}

// Throws AgreedError if the disk has no room for checkpoints with the flow's state.
void CheckRoom(const TrainingParts& parts, const GradientFlow& flow, Communicator* comm) {
  CheckRoomFor(flow, *parts.store, *parts.solver, parts.checkpoints.get(), comm);
}

// What sums gradients over batches and ranks, and hands the sums to the solver.
void BuildFlow(const JobConfig& config, bool deterministic, Communicator* comm,
               TrainingParts* parts) {
  GradientFlowOptions flow;
  flow.config = config.comm();
  flow.deterministic = deterministic;
  flow.total_steps = parts->rate->max_steps();
  flow.momentum = config.solver().momentum();
  flow.nesterov = config.solver().nesterov();
  flow.solver = config.solver().type();
  flow.steps_ahead =
      StepsAhead(config.comm(), flow.solver, comm->size(), parts->store->gradient().desc.dtype,
                 parts->device->shares_host_memory());
  flow.objection = [comm, parts](const GradientFlow& taken) -> std::string {
    try {
      CheckRoom(*parts, taken, comm);
    } catch (const AgreedError& error) {
      return error.what();
    }
    return "";
  };
  flow.chosen = [parts](const ExchangeChoice& choice) {
    parts->state.exchange = choice.taken();
    parts->report->Choice(choice);
  };
  flow.device = parts->device.get();
  flow.timeline = parts->timeline.get();
  flow.transport = parts->transport;
  flow.master = parts->store->master();
  flow.weights_changed = [parts] { parts->store->SyncCompute(); };
  flow.solver_state = parts->solver->State();
  parts->flow = NewGradientFlow(parts->store->layout(), parts->store->gradient(), comm, flow);
  const bool automatic = config.comm().mode() == CommConfig::AUTO;
  if (!config.comm().threshold_auto() && !automatic) {
    parts->bucket_ends = LastEntries(*parts->flow);
    parts->train.net->SetBucketEnds(parts->bucket_ends);
  }
  std::function<void()> before_update;
  if (comm->rank() == 0 && WhyStepsAreNotKept(config, deterministic, *parts).empty()) {
    before_update = [parts] { parts->keeper->BeginUpdate(); };
  }
  AgreeOnErrors(comm, "preparing the update", [&] {
    parts->update = std::make_unique<StepUpdate>(
        config.solver(), config.comm(), comm->size(),
        StepUpdate::Parts{
            parts->store, parts->solver.get(), parts->flow.get(), parts->timeline.get(),
            &parts->state, [parts](const std::string& text) { parts->report->Note(text); },
            before_update, [parts](int64_t step) { return parts->batches->IterSize(step); },
            [parts](int64_t step) {
              if (parts->average) parts->average->StepDone(step);
            },
            [parts] {
              // Within the update a rank that waits for lost ones could not keep its last step.
              if (!parts->flow->local()) parts->statistics->StepDone();
            },
            [parts](double epochs) { return parts->batches->StepsOf(epochs); },
            [parts](const std::vector<int>& entries) {
              parts->train.net->EndParameters(entries);
            }});
    if (parts->batches->largest_iter_size() > 1) {
      parts->accumulator = std::make_unique<Accumulator>(parts->store);
    }
  });
  parts->statistics = std::make_unique<StatisticsMean>(parts->store, comm, deterministic);
}

// Moves the end of training to the end of a round, where the ranks have the same weights.
void EndWithRound(TrainingParts* parts) {
  const int64_t last_step = parts->flow->CompleteSteps(parts->last_step);
  if (last_step != parts->last_step) {
    parts->report->Note(StrCat("training ends after step ", last_step, " instead of ",
                               parts->last_step, ": at the end of a round of comm.periodic.steps"));
  }
  parts->last_step = last_step;
}

// Weights and all other state, from a checkpoint if the options name one. `note` gets remarks for
// people.
void Load(const JobConfig& config, const TrainOptions& options, Communicator* comm,
          TrainingParts* parts, const std::function<void(const std::string&)>& note) {
  parts->checkpoints =
      OpenCheckpointFolder(config.checkpoint(), *parts->store, *parts->solver, *parts->flow, comm);
  TrainingState* const state = &parts->state;
  *state = LoadStart(config, options.start, options.threads, parts->store, *parts->solver,
                     parts->flow.get(), comm, note);
  if (!state->exchange.empty()) CheckRoom(*parts, *parts->flow, comm);
  const bool from_checkpoint = !state->config.empty();
  const std::vector<std::string> names = parts->train.loader->class_names();
  if (from_checkpoint) {
    NoteChanges(*state, config, comm->size(), options.threads, parts->train.loader->size(), note);
    NoteClassChanges(state->class_names, names, note);
    if (state->step >= parts->last_step) {
      note(StrCat("no step is left: training ends after step ", parts->last_step,
                  ", and the checkpoint is from after step ", state->step,
                  "; for more steps raise solver.max_steps or solver.max_epochs"));
    }
  }
  if (parts->average && !from_checkpoint) parts->average->Restart();
  parts->update->Restore();
  parts->train.loader->Seek(state->position);
  state->seed = config.seed();
  state->world = comm->size();
  state->threads = options.threads;
  state->solver = config.solver().type();
  state->net = parts->train.net->name();
  state->config = config.DebugString();
  state->class_names = StorableClassNames(names, note);
  RunOnRankZero(comm, "reading the files for predictions",
                [&] { state->prediction_files = PredictionFiles(config, *parts, note); });
}

// Watches over the steps of rank 0 from here on.
void KeepSteps(const JobConfig& config, bool deterministic, Communicator* comm,
               TrainingParts* parts) {
  if (comm->rank() != 0) return;
  const auto save = [parts](TrainingState state) {
    // Written by rank 0 itself, with residuals and mean statistics.
    const std::string path = parts->checkpoints->Find(state.step);
    if (!path.empty()) return path;
    state.residual_ranks = 0;
    return parts->checkpoints->Write(state, *parts->store, *parts->solver, {},
                                     /*spare_residuals=*/true);
  };
  parts->keeper = std::make_unique<StepKeeper>(
      StepKeeper::Parts{parts->store, save, WhyStepsAreNotKept(config, deterministic, *parts),
                        parts->last_step},
      parts->state);
  comm->watchdog()->BeforeExit([parts] { parts->keeper->Save(); });
}

}  // namespace

void SetUp(const JobConfig& config, const TrainOptions& options, Communicator* comm,
           TrainingParts* parts) {
  comm->watchdog()->WatchSignals(StopRequested);
  Open(config, options, comm, parts);
  BuildNets(config, options, comm, parts);
  BuildFlow(config, options.deterministic, comm, parts);
  EndWithRound(parts);
  // A checkpoint may decide how AUTO exchanges gradients, which the announcement says.
  std::vector<std::string> notes;
  try {
    Load(config, options, comm, parts, [&](const std::string& text) { notes.push_back(text); });
  } catch (const UserError&) {
    for (const std::string& text : notes) parts->report->Note(text);
    throw;
  }
  const JobDescription job = {config,
                              options.threads,
                              options.deterministic,
                              options.verbose,
                              parts->last_step,
                              *comm,
                              *parts->device,
                              *parts->train.net,
                              *parts->train.loader,
                              parts->validation.loader.get(),
                              *parts->flow,
                              *parts->batches,
                              *parts->rate};
  Announce(job, parts->report.get());
  for (const std::string& text : notes) parts->report->Note(text);
  CheckSameNet(parts->source, *parts->store, *parts->train.loader, parts->validation.loader.get(),
               comm);
  KeepSteps(config, options.deterministic, comm, parts);
  if (parts->mlperf_log) parts->mlperf_log->StartRun(job, parts->state.epoch);
}

}  // namespace gf
