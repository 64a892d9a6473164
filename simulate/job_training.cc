// The whole training of a simulated job: phases, the warm-up of the density, validations.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "comm/price/bucket_schedule.h"
#include "core/config/job_checks.h"
#include "core/error.h"
#include "data/augment/augment.h"
#include "models/job_net.h"
#include "simulate/job_run.h"
#include "solvers/batch_schedule.h"
#include "solvers/size_schedule.h"

namespace gf {
namespace {

// Number of simulated densities of the warm-up; steps between them are interpolated.
constexpr int kWarmupPoints = 16;

// Without the times of their steps.
std::vector<TrainingPhase> PhasesOf(const JobConfig& config, const BatchSchedule& batches) {
  const SizeSchedule sizes(config.train_data(), batches);
  std::set<int64_t> first_steps;
  for (const int64_t step : batches.FirstSteps()) first_steps.insert(step);
  for (const int64_t step : sizes.FirstSteps()) first_steps.insert(step);
  std::vector<TrainingPhase> phases;
  for (const int64_t step : first_steps) {
    const int64_t images = batches.ImagesOf(step), size = sizes.DataOf(step).crop_size();
    const bool same =
        !phases.empty() && phases.back().step_images == images && phases.back().crop_size == size;
    if (!same) phases.push_back({step, images, size});
  }
  return phases;
}

// How often a job evaluates: `total` is its number of steps. The last step is always evaluated.
double Validations(const JobConfig& config, const BatchSchedule& batches, int64_t total) {
  double due = 0;  // before the last step
  if (config.validation_interval_steps() > 0) {
    due = static_cast<double>(total - 1) / static_cast<double>(config.validation_interval_steps());
  } else if (config.validation_interval_epochs() > 0) {
    due = batches.EpochsBefore(total - 1) / config.validation_interval_epochs();
  }
  const double steps = std::floor(due * (1 + 1e-12)) + 1;
  return std::min(steps, static_cast<double>(total)) + (config.validate_at_start() ? 1 : 0);
}

// The number of times that the net sees each image of an evaluation.
int ViewsOf(const DataConfig& config) {
  return (config.test_flips() ? 2 : 1) * (config.test_shifts() > 0 ? 3 : 1);
}

// A job has one set of parameters. Throws UserError if a parameter has another shape in `net` than
// in the training net.
void CheckParameters(const NetModel& training, const NetModel& net) {
  std::map<std::string, Shape> shapes;
  for (const PoolEntry& entry : training.layout.entries()) shapes[entry.name] = entry.shape;
  for (const PoolEntry& entry : net.layout.entries()) {
    const auto found = shapes.find(entry.name);
    if (found == shapes.end() || found->second == entry.shape) continue;
    ThrowUserError("parameter ", entry.name, " is ", entry.shape.ToString(), " here and ",
                   found->second.ToString(),
                   " in the training net: the net does not take images of several sizes");
  }
}

}  // namespace

void Simulator::AddSizes(const NetSource& source) {
  const JobConfig& config = job_.config;
  const std::vector<std::string> freeze = {config.freeze().begin(), config.freeze().end()};
  const auto times_of = [&](const std::string& what, const DataConfig& data, Phase phase) {
    const Shape given = ImageShapeOf(data);
    const Shape image = given.rank() == 0 ? ImageShapeOf(config.train_data()) : given;
    const LabelConfig labels = LabelsOf(config, phase);
    try {
      const NetModel net = ModelOf(source, data.batch_size(), image, freeze, &labels, phase);
      CheckParameters(net_, net);
      return job_.gpu != nullptr
                 ? EstimatedTimes(net, source, image, config, *job_.gpu, traffic_, phase)
                 : StretchedTimes(times_, net_, net);
    } catch (const UserError& error) {
      throw UserError(StrCat(what, ": ", error.what()));
    }
  };
  for (int i = 0; i < config.train_data().size_phase_size(); ++i) {
    const DataConfig data = DataOfPhase(config.train_data(), i);
    times_of_size_[data.crop_size()] =
        times_of(StrCat("train_data.size_phase with crop_size ", data.crop_size()), data, TRAIN);
  }
  if (config.has_validation_data()) {
    validation_times_ = times_of("validation_data", config.validation_data(), TEST);
  }
}

Simulator::Work Simulator::FirstWork() const {
  return {&times_, BatchSchedule(job_.config.solver(), job_.train_images, net_.batch).IterSize(0)};
}

void Simulator::AddTraining(const CommConfig& comm, Pricer* pricer, RunResult* result) const {
  const SolverConfig& solver = job_.config.solver();
  const BatchSchedule batches(solver, job_.train_images, int64_t{net_.batch} * result->ranks);
  result->train_images = job_.train_images;
  const int64_t total =
      solver.has_max_steps() ? solver.max_steps() : batches.StepsOf(solver.max_epochs());
  result->total_steps = total;
  result->startup = job_.cluster.run().startup_s();
  const auto work_in = [&](const TrainingPhase& phase) -> Work {
    const auto found = times_of_size_.find(phase.crop_size);
    return {found == times_of_size_.end() ? &times_ : &found->second,
            batches.IterSize(phase.first_step)};
  };
  int64_t warmup_steps = 0;
  if (DensityOf(comm) < 1) {
    warmup_steps =
        static_cast<int64_t>(std::ceil(DensityWarmup(comm) * static_cast<double>(total)));
  }
  const std::vector<TrainingPhase> phases = PhasesOf(job_.config, batches);
  for (size_t i = 0; i < phases.size() && phases[i].first_step < total; ++i) {
    TrainingPhase phase = phases[i];
    const Work work = work_in(phase);
    phase.step =
        i == 0 ? result->step.total() : Mean(comm, DensityOf(comm), work, pricer).parts.total();
    result->phases.push_back(phase);
    const int64_t begin = phase.first_step;
    const int64_t end = i + 1 < phases.size() ? std::min(phases[i + 1].first_step, total) : total;
    const int64_t warm = std::clamp(warmup_steps, begin, end);  // where the warm-up ends
    const double share = static_cast<double>(warm - begin) / static_cast<double>(warmup_steps);
    const int points = warm == begin ? 0 : static_cast<int>(std::ceil(share * kWarmupPoints));
    for (int k = 0; k < points; ++k) {
      const int64_t step = begin + (2 * k + 1) * (warm - begin) / (2 * points);
      result->warmup += Mean(comm, DensityIn(step, total, comm), work, pricer).parts.total() *
                        static_cast<double>(warm - begin) / points;
    }
    result->steady += phase.step * static_cast<double>(end - warm);
  }
  if (job_.config.has_validation_data()) {
    result->validation = Validations(job_.config, batches, total) * ValidationTime(result->ranks);
  }
}

double Simulator::ValidationTime(int ranks) const {
  const DataConfig& data = job_.config.validation_data();
  const double images = std::ceil(static_cast<double>(job_.validation_images) / ranks);
  double forward = 0;
  for (const double layer : validation_times_.forward) forward += layer;
  return std::ceil(images / data.batch_size()) *
         (validation_times_.other + forward * ViewsOf(data));
}

}  // namespace gf
