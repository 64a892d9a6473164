#include "simulate/job_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/choice/ladder.h"
#include "comm/choice/rung_choice.h"
#include "comm/choice/rung_price.h"
#include "comm/flow/gradient_flow.h"
#include "comm/topk/topk_buckets.h"
#include "core/config/job_checks.h"
#include "core/error.h"
#include "core/readable.h"
#include "data/augment/augment.h"
#include "models/job_net.h"
#include "simulate/cluster.h"
#include "simulate/round_end.h"

namespace gf {
namespace {

constexpr int64_t kMostImages = 1'000'000'000'000;  // as of train_data.images

}  // namespace

std::string LayerTimesOf(const SimulatedJob& job) {
  if (job.gpu != nullptr) return "estimate for " + job.gpu->name;
  return job.profile != nullptr ? "profile" : "estimated from FLOPs and bytes";
}

Simulator::Simulator(const SimulatedJob& job) : job_(job) {
  const JobConfig& config = job_.config;
  JobConfig checked = config;
  checked.mutable_comm()->clear_threshold_auto();  // the thresholds themselves are simulated
  CheckJob(checked, Places());
  if (job_.gpu != nullptr && job_.profile != nullptr) {
    ThrowUserError("--gpu replaces --profile: give only one of them");
  }
  if (job_.steps < 1 || job_.steps > kMostSteps) {
    ThrowUserError("--steps is ", job_.steps, ", must be from 1 to ", kMostSteps,
                   ": results are means, and more steps hardly change them");
  }
  if (!(job_.node_price_per_hour >= 0 && job_.node_price_per_hour <= kHighestPrice)) {
    ThrowUserError("--price_per_hour is ", job_.node_price_per_hour, ", must be from 0 to ",
                   kHighestPrice);
  }
  const auto check_images = [](const char* flag, int64_t images, int64_t least) {
    if (images >= least && images <= kMostImages) return;
    ThrowUserError("--", flag, " is ", images, ", must be from ", least, " to ",
                   WithCommas(kMostImages));
  };
  check_images("train_images", job_.train_images, 1);
  check_images("validation_images", job_.validation_images, 0);
  const NetSource source = ReadJobNet(config);
  const Shape image = ImageShapeOf(config.train_data());
  const int batch = config.train_data().batch_size();
  const LabelConfig labels = LabelsOf(config, TRAIN);
  net_ = ModelOf(source, batch, image, {config.freeze().begin(), config.freeze().end()}, &labels);
  traffic_ = TrafficOf(config.solver(), config.compute_type());
  if (job_.gpu != nullptr) {
    memory_bytes_per_s_ = MemoryRateOf(*job_.gpu);
    AddProducts(config.solver(), net_.layout, ProductRateOf(*job_.gpu, config.compute_type()),
                memory_bytes_per_s_, &traffic_);
    times_ = EstimatedTimes(net_, source, image, config, *job_.gpu, traffic_);
  } else {
    const AcceleratorConfig& device = job_.cluster.device();
    memory_bytes_per_s_ = device.memory_gb_s() * 1e9;
    // Rates and profiles are of steps that train all parameters, without products in updates.
    times_ = TimesOf(ModelOf(source, batch, image, {}, &labels), device, job_.profile,
                     config.compute_type(), traffic_, job_.cluster_places);
    AddProducts(config.solver(), net_.layout, device.tflops() * 1e12, memory_bytes_per_s_,
                &traffic_);
    LeaveFrozenOut(net_, traffic_, memory_bytes_per_s_, &times_);
  }
  compressor_bytes_per_s_ = job_.cluster.device().compressor_gb_s() * 1e9;
  AddSizes(source);
}

Simulator::~Simulator() = default;

int Simulator::RanksOf(int ranks) const {
  if (ranks == 0) ranks = job_.ranks;
  if (ranks == 0) ranks = job_.cluster.ranks();
  if (ranks < 1 || ranks > kMostRanks) {
    ThrowUserError("--ranks is ", ranks, ", must be from 1 to ", kMostRanks);
  }
  return ranks;
}

DType Simulator::WireOf(const CommConfig& comm) const {
  return WireTypeOf(comm, ToDType(job_.config.compute_type()));
}

SimulatedSetup Simulator::SetupFor(const CommConfig& comm, const Work& work, int world) const {
  const ClusterConfig& cluster = job_.cluster;
  SimulatedSetup setup;
  setup.layout = &net_.layout;
  setup.compute = ComputeOf(net_, *work.times);
  setup.compute.batches = work.batches;
  setup.traffic =
      TrafficWith(traffic_, job_.config.compute_type(),
                  StepsAhead(comm, job_.config.solver().type(), world,
                             ToDType(job_.config.compute_type()), job_.config.device() == "cpu"));
  setup.memory_bytes_per_s = memory_bytes_per_s_;
  setup.compressor_bytes_per_s = compressor_bytes_per_s_;
  setup.wire_bytes = static_cast<int64_t>(SizeOf(WireOf(comm)));
  setup.algorithm = comm.algorithm();
  setup.waits_for_layer = cluster.collective().waits_for_layer();
  setup.compute_lost = cluster.collective().compute_lost();
  return setup;
}

SimulatedStep Simulator::Mean(const CommConfig& comm, double density, const Work& work,
                              Pricer* pricer) const {
  const int world = pricer->network().world();
  const BucketSchedule schedule = ScheduleOf(net_.layout, comm, WireOf(comm), world, density);
  SimulatedSetup setup = SetupFor(comm, work, world);
  if (job_.cluster.run().has_node_images_per_s()) {
    setup.load_s = 1.0 * work.batches * net_.batch *
                   std::min(world, job_.cluster.node().devices()) /
                   job_.cluster.run().node_images_per_s();
  }
  const bool local = comm.mode() == CommConfig::PERIODIC && density < 1;
  SimulatedStep mean;
  for (int i = 0; i < job_.steps; ++i) {
    std::vector<double> factors = JitterOf(job_.cluster.device().jitter(), world, job_.seed, i);
    factors =
        OverBatches(std::move(factors), 1.0 * work.batches * (local ? comm.periodic().steps() : 1));
    const SimulatedStep step = SimulateStep(setup, schedule, factors, pricer);
    mean.parts.forward += step.parts.forward / job_.steps;
    mean.parts.backward += step.parts.backward / job_.steps;
    mean.parts.exposed += step.parts.exposed / job_.steps;
    mean.parts.update += step.parts.update / job_.steps;
    mean.parts.data += step.parts.data / job_.steps;
    mean.communication = step.communication;
    mean.sent_bytes = step.sent_bytes;
    mean.traffic = step.traffic;
  }
  if (local) AddRoundEnd(setup, pricer, &mean);
  return mean;
}

CommConfig Simulator::Choose(Pricer* pricer, ExchangeChoice* choice) const {
  const CommConfig& comm = job_.config.comm();
  const int world = pricer->network().world();
  if (comm.mode() != CommConfig::AUTO) return comm;
  const std::vector<Rung> ladder = LadderOf(
      comm, {net_.layout, ToDType(job_.config.compute_type()), job_.config.solver().type(), world});
  choice->limit = comm.auto_().exposed();
  choice->slower = comm.auto_().slower();
  choice->compute = FirstWork().seconds();
  for (const Rung& rung : ladder) {
    PricedRung priced;
    priced.name = rung.name;
    priced.verdict = rung.obstacle;
    if (rung.obstacle.empty()) {
      for (const int power : ThresholdPowers(comm)) {
        const CommConfig config = WithThresholds(rung.config, power);
        const double density = DensityOf(config);
        const SimulatedStep step = Mean(config, density, FirstWork(), pricer);
        if (choice->noted.empty()) {
          choice->noted = rung.name;
          choice->noted_step = step.parts.total();
        }
        if (!IsWorthIt(step.parts.total(), priced)) continue;
        priced.priced = true;
        priced.power = power;
        priced.buckets = ScheduleOf(net_.layout, config, WireOf(config), world, density).buckets();
        priced.bytes = step.sent_bytes;
        priced.exposed = step.parts.exposed;
        priced.step = step.parts.total();
      }
      // What the step has beside compute and communication; SPARSE also saves updates.
      if (rung.config.mode() != CommConfig::LAZY) {
        priced.arithmetic = std::max(0.0, priced.step - priced.exposed - choice->compute);
      }
    }
    choice->rungs.push_back(std::move(priced));
  }
  ChooseRung(choice);
  return WithThresholds(ladder[choice->chosen].config, choice->rungs[choice->chosen].power);
}

void Simulator::AddRoundEnd(const SimulatedSetup& setup, Pricer* pricer,
                            SimulatedStep* mean) const {
  const CommConfig& comm = job_.config.comm();
  const int steps = comm.periodic().steps();
  const SimulatedStep end = SimulateRoundEnd(setup, comm, WireOf(comm), pricer);
  mean->parts.exposed += end.parts.exposed / steps;
  mean->parts.update += (end.parts.total() - end.parts.exposed) / steps;
  mean->communication += end.communication / steps;
  mean->sent_bytes += end.sent_bytes / steps;
  for (size_t kind = 0; kind < mean->traffic.size(); ++kind) {
    mean->traffic[kind] += end.traffic[kind] / steps;
  }
}

RunResult Simulator::Run(int ranks) {
  const int world = RanksOf(ranks);
  Pricer pricer(job_.cluster, world);
  return RunWith(&pricer);
}

RunResult Simulator::RunWith(Pricer* pricer) {
  RunResult result;
  const CommConfig comm = Choose(pricer, &result.choice);
  const Work work = FirstWork();
  const SimulatedStep mean = Mean(comm, DensityOf(comm), work, pricer);
  result.ranks = pricer->network().world();
  result.nodes = pricer->network().nodes();
  result.step_images = int64_t{net_.batch} * work.batches * result.ranks;
  result.layer_times = LayerTimesOf(job_);
  result.guess = times_.guess;
  if (SendingModeOf(comm) == CommConfig::TOPK) {
    result.advice = WhyTopkSendsAll(comm.topk().density(), result.ranks, WireOf(comm));
  }
  result.node_price_per_hour = job_.node_price_per_hour > 0
                                   ? job_.node_price_per_hour
                                   : job_.cluster.run().node_price_per_hour();
  result.step = mean.parts;
  result.communication = mean.communication;
  result.sent_bytes = mean.sent_bytes;
  result.traffic = mean.traffic;
  result.images_per_s = static_cast<double>(result.step_images) / mean.parts.total();
  result.one_device = static_cast<double>(net_.batch) * work.batches / work.seconds();
  AddTraining(comm, pricer, &result);
  return result;
}

SimulatedStep Simulator::Trace() {
  Pricer pricer(job_.cluster, RanksOf(0));
  ExchangeChoice choice;
  const CommConfig comm = Choose(&pricer, &choice);
  const int world = pricer.network().world();
  const double density = DensityOf(comm);
  const BucketSchedule schedule = ScheduleOf(net_.layout, comm, WireOf(comm), world, density);
  const SimulatedSetup setup = SetupFor(comm, FirstWork(), world);
  const std::vector<double> factors = JitterOf(job_.cluster.device().jitter(), world, job_.seed, 0);
  SimulatedStep step = SimulateStep(setup, schedule, factors, &pricer, /*spans=*/true);
  if (comm.mode() != CommConfig::PERIODIC) return step;
  // The last step of a round.
  const double begin = step.parts.total();
  for (Span span : SimulateRoundEnd(setup, comm, WireOf(comm), &pricer, /*spans=*/true).spans) {
    span.begin += begin;
    span.end += begin;
    step.spans.push_back(span);
  }
  return step;
}

}  // namespace gf
