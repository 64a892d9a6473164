// lost_rank_job MODE RANK before|inside|halfway|after LABEL SINCE SIGNAL: some steps of a flow, in
// the course of which RANK gets the signal at the first collective whose label begins with LABEL,
// where "*" stands for anything, after one whose label begins with SINCE ("": from the start).
// MODE is a value of comm.mode, error_feedback, or
//   PERIODIC_LOW_RANK  differences of weights travel as factors
//   PERIODIC_warmup    gradients travel in the first three steps
//   AUTO_SPARSE        a job of mode AUTO in which only SPARSE compresses
//   AUTO_light         whose links are so slow that its first steps are light
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/choice/trials.h"
#include "comm/flow/gradient_flow.h"
#include "comm/mpi/communicator.h"
#include "comm/threaded.h"
#include "core/error.h"
#include "tests/comm/flow/gradient_flow_checks.h"
#include "tests/comm/flow/long_transport.h"
#include "tests/comm/flow/lost_rank/mortal_communicator.h"

namespace gf {
namespace {

constexpr double kTimeout_s = 3;
constexpr int kSteps = 6;
// Enough for AUTO to choose and go on.
constexpr int kAutoSteps = kMostStepsToChoose + 2;
// Of AUTO: so slow that it tries compressors, however busy the machine is.
constexpr double kBytesPerSecond = 2e6;
// Of AUTO_light: an exchange of all gradients would take 4 s.
constexpr double kSecondsPerByte = 3e-5;
// Of AUTO, a step's compute: far more than the exchange of a compressor, so that the fastest one
// has a rival.
constexpr std::chrono::milliseconds kCompute(60);

// Two layers with weights that every mode compresses, or a vector.
PoolLayout LayoutOf(const std::string& mode) {
  using Shapes = std::vector<std::pair<std::string, Shape>>;
  const Shapes vector = {{"scale", {36000}}};
  const Shapes layers = {{"fc2.weight", {50, 100}},
                         {"fc2.bias", {50}},
                         {"fc1.weight", {100, 300}},
                         {"fc1.bias", {100}}};
  PoolLayout layout;
  for (const auto& [name, shape] : mode == "AUTO_SPARSE" ? vector : layers) {
    PoolEntry entry;
    entry.name = name;
    entry.shape = shape;
    layout.Add(entry);
  }
  return layout;
}

GradientFlowOptions OptionsOf(const std::string& mode) {
  const bool feedback = mode == "error_feedback";
  CommConfig::Mode number = CommConfig::LAZY;
  const std::string name = mode.rfind("AUTO_", 0) == 0       ? "AUTO"
                           : mode.rfind("PERIODIC_", 0) == 0 ? "PERIODIC"
                                                             : mode;
  if (!feedback && !CommConfig::Mode_Parse(name, &number)) ThrowUserError("no mode ", mode);
  GradientFlowOptions options = FlowOptions(number);
  options.total_steps = kSteps;
  options.momentum = 0.9f;
  options.config.set_error_feedback(feedback);
  if (feedback) options.config.set_wire_type(CommConfig::BF16);
  SparseConfig* const sparse = options.config.mutable_sparse();
  if (number == CommConfig::AUTO) {
    options.config.set_algorithm("auto");
    sparse->set_chunk_size(300);  // enough chunks for every rung of SPARSE
  } else {
    sparse->set_density(0.3);
  }
  sparse->set_warmup_fraction(0);
  options.config.mutable_topk()->set_warmup_fraction(0);
  options.config.mutable_low_rank()->set_warmup_fraction(0);
  PeriodicConfig* const periodic = options.config.mutable_periodic();
  periodic->set_warmup_fraction(mode == "PERIODIC_warmup" ? 0.5 : 0);
  periodic->set_steps(2);
  if (mode == "PERIODIC_LOW_RANK") periodic->set_exchange(CommConfig::LOW_RANK);
  return options;
}

Death DeathOf(char** argv) {
  const std::map<std::string, Death::Moment> moments = {{"before", Death::kBefore},
                                                        {"inside", Death::kInside},
                                                        {"halfway", Death::kHalfway},
                                                        {"after", Death::kAfter}};
  return {moments.at(argv[3]), argv[4], argv[5], std::atoi(argv[6])};
}

int Body(int argc, char** argv) {
  if (argc != 7) ThrowUserError("expected MODE RANK MOMENT LABEL SINCE SIGNAL");
  GradientFlowOptions options = OptionsOf(argv[1]);
  const PoolLayout layout = LayoutOf(argv[1]);
  options.master.desc = {Shape{layout.count()}, DType::kFP32, Layout()};
  options.master.owner = options.device->Allocate(options.master.desc.bytes());
  options.master.data = options.master.owner.get();
  const bool restores = std::string(argv[1]) == "PERIODIC_warmup";
  if (restores) options.solver_state = {{"momentum", options.master}};
  const auto comm = NewThreadedCommunicator([&] {
    std::unique_ptr<Communicator> ranks = NewMpiCommunicator(&argc, &argv, kTimeout_s);
    if (ranks->rank() != std::atoi(argv[2])) return ranks;
    const bool slow = options.config.mode() == CommConfig::AUTO;
    return NewMortalCommunicator(std::move(ranks), DeathOf(argv), slow ? kBytesPerSecond : 0);
  });
  comm->watchdog()->Guard("");
  if (std::string(argv[1]) == "AUTO_light") {
    options.transport = std::make_shared<LongTransport>(
        NewGradientTransport(options.config, false, options.device, comm.get()), kSecondsPerByte);
  }
  TestFlow f(layout, options, DType::kFP32, comm.get());
  if (restores) f.flow->Restore({});  // rank 0 shares its solver's state
  const bool automatic = options.config.mode() == CommConfig::AUTO;
  const int entries = static_cast<int>(layout.entries().size());
  for (int step = 0; step < (automatic ? kAutoSteps : kSteps); ++step) {
    f.flow->BeginStep(step);
    for (int e = 0; e < entries; ++e) {
      if (automatic) std::this_thread::sleep_for(kCompute / entries);
      const PoolEntry& entry = f.layout.entries()[e];
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        f.Set(i, static_cast<float>((i * 7 + step * 3 + comm->rank()) % 11) - 5);
      }
      f.flow->GradientsReady({e});
    }
    f.flow->Finish([](const std::vector<ElementRange>&) {});
    if (f.flow->local() && f.flow->round_ends()) f.flow->EndRound({});
  }
  comm->Finalize();
  std::puts("all steps are done");
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Body, argc, argv); }
