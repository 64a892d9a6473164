// gfbench step: a whole training step of a net, and each layer of it.

#include <gflags/gflags.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/config/config.h"
#include "core/device.h"
#include "core/error.h"
#include "core/estimate/gpu.h"
#include "core/readable.h"
#include "models/net.h"
#include "solvers/estimate/step_estimate.h"
#include "solvers/solver.h"
#include "tools/command.h"
#include "tools/gfbench/common_flags.h"
#include "tools/gfbench/measure.h"
#include "tools/gfbench/net_flags.h"
#include "tools/gfbench/process.h"
#include "tools/gfbench/product_limit.h"
#include "tools/gfbench/profile_out.h"
#include "tools/gfbench/step_cost.h"
#include "tools/gfbench/synthetic.h"

DEFINE_bool(layers, false, "also print each layer's times");
DEFINE_bool(
    limit, false,
    "also time a product of matrices, and print the share of its speed that the step reaches");
DEFINE_bool(fuse, true,
            "compute neighboring layers together where that is faster; --nofuse: each layer of the "
            "net by itself, to see what fusing brings");
DEFINE_bool(forward_only, false, "time the evaluation net instead of training steps");
DEFINE_bool(cost, false, "price the step on the GPU of --gpu instead of running it");
DEFINE_string(gpu, "", "with --cost: the GPU's `NAME`, a100, b200, h100, h200, l40s or t4");

namespace gf {
namespace {

using nlohmann::ordered_json;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

SolverConfig SolverSettings() {
  SolverConfig config;
  config.set_type(SolverOfFlag("SGD"));
  config.set_base_lr(0.001f);
  config.set_weight_decay(5e-4f);
  return config;
}

// A net that trains (or evaluates) one and the same batch again and again.
class Stepper {
 public:
  explicit Stepper(Net* net) : net_(net), batch_(SyntheticBatch(*net)) {
    const std::string type = SolverOfFlag("SGD");  // which also checks the flag
    if (FLAGS_forward_only) return;
    solver_ = NewSolver("--solver", type, SolverSettings(), net->parameters().get());
  }

  // Returns the seconds of a step and adds those of its parts. As in training, the host waits once
  // per step, or for each part if `apart`.
  double Step(bool apart, Parts* parts) {
    if (sequence_ == 1) net_->parameters()->device()->Settle();
    const double start = Now();
    net_->Forward(batch_, sequence_++);
    // As in training, the batch of the next step travels to a GPU meanwhile.
    if (FLAGS_forward_only) net_->Stage(batch_);
    if (apart || FLAGS_forward_only) Done();
    const double forward = Now();
    double backward = forward, update = forward;
    if (!FLAGS_forward_only) {
      net_->Backward(1, nullptr);
      net_->Stage(batch_);
      if (apart) Done();
      backward = Now();
      UpdateScalars scalars;
      scalars.lr = 0.001;
      solver_->BeginStep(scalars);
      solver_->Update({{0, net_->parameters()->layout().count()}});
      net_->parameters()->BumpVersion();
      Done();
      update = Now();
    }
    if (first_step_ == 0) first_step_ = SecondsSinceStart();
    (*parts)["forward"] += forward - start;
    (*parts)["backward"] += backward - forward;
    (*parts)["update"] += update - backward;
    return update - start;
  }

  // Seconds from the start of the process to the end of the first step.
  double first_step() const { return first_step_; }

 private:
  // Waits until the device has done what was enqueued.
  void Done() { net_->parameters()->device()->compute_stream()->Synchronize(); }

  Net* net_;
  Batch batch_;
  std::unique_ptr<Solver> solver_;  // null: --forward_only
  uint64_t sequence_ = 0;
  double first_step_ = 0;
};

// Prints each layer's mean times and returns them.
ordered_json ReportLayers(const Net& net) {
  ordered_json layers = ordered_json::array();
  std::printf("\n%-34s %-18s %10s %10s %10s  %s\n", "layer", "type", "forward ms", "back. ms",
              "GFLOP/s", "by");
  for (const NetOp& op : net.ops()) {
    const double forward = op.forward_seconds / FLAGS_steps,
                 backward = op.backward_seconds / FLAGS_steps;
    const double rate =
        static_cast<double>(op.forward_flops + op.backward_flops) / (forward + backward) / 1e9;
    std::printf("%-34s %-18s %10.3f %10.3f %10.1f%s%s\n", op.name.c_str(), op.type.c_str(),
                forward * 1e3, backward * 1e3, rate, op.how.empty() ? "" : "  ", op.how.c_str());
    layers.push_back({{"name", op.name},
                      {"type", op.type},
                      {"by", op.how},
                      {"forward_ms", forward * 1e3},
                      {"backward_ms", backward * 1e3},
                      {"forward_flops", op.forward_flops}});
  }
  return layers;
}

// FLOP/s of a product of matrices, 0 if they are not known.
struct Limits {
  double product = 0;  // in the net's type
  double fp32 = 0;
};

Limits MeasureLimits(DType compute, Device* device) {
  Limits limits;
  limits.product = ProductLimit(compute, device);
  limits.fp32 = compute == DType::kFP32 ? limits.product : ProductLimit(DType::kFP32, device);
  return limits;
}

double StepFlops(const Net& net) {
  double flops = 0;
  for (const NetOp& op : net.ops()) {
    flops += static_cast<double>(op.forward_flops + op.backward_flops);
  }
  return flops;
}

// "26.4 GFLOP/s", "712.0 TFLOP/s"
std::string Rate(double flops_per_s) {
  const bool tera = flops_per_s >= 1e12;
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", flops_per_s / (tera ? 1e12 : 1e9),
                tera ? "TFLOP/s" : "GFLOP/s");
  return text;
}

// `peak`: bytes.
void Report(const Net& net, const Measured& step, double first_step, double peak,
            const Limits& limits) {
  const std::string device = net.parameters()->device()->Description();
  const double forward_ms = step.parts.at("forward") * 1e3,
               backward_ms = step.parts.at("backward") * 1e3,
               update_ms = step.parts.at("update") * 1e3;
  std::printf("%s, batch %d, %s%s, %s\n", net.name().c_str(), FLAGS_batch, FLAGS_compute.c_str(),
              FLAGS_fuse ? "" : ", not fused", device.c_str());
  std::printf("step %.2f ms (median of %d): forward %.2f, backward %.2f, update %.2f\n",
              step.seconds * 1e3, FLAGS_steps, forward_ms, backward_ms, update_ms);
  std::printf("%.2f images/s, peak memory %s (activations %s), start to first step %.2f s\n",
              FLAGS_batch / step.seconds, HumanBytes(peak).c_str(),
              HumanBytes(static_cast<double>(net.arena_bytes())).c_str(), first_step);
  const double rate = StepFlops(net) / step.seconds;
  std::printf("%s", Rate(rate).c_str());
  if (limits.product > 0) {
    std::printf(", %.0f %% of the %s that a product of matrices reaches (in FP32 %s)",
                100 * rate / limits.product, Rate(limits.product).c_str(),
                Rate(limits.fp32).c_str());
  }
  const auto [recorded, operations] = net.RecordedOps();
  if (recorded > 0) std::printf("; %d of %d operations in graphs", recorded, operations);
  std::printf("\n");
  const ordered_json layers = FLAGS_layers ? ReportLayers(net) : ordered_json::array();
  WriteJson({{"net", net.name()},
             {"batch", FLAGS_batch},
             {"compute", FLAGS_compute},
             {"device", device},
             {"fuse", FLAGS_fuse},
             {"step_ms", step.seconds * 1e3},
             {"forward_ms", forward_ms},
             {"backward_ms", backward_ms},
             {"update_ms", update_ms},
             {"images_per_s", FLAGS_batch / step.seconds},
             {"peak_bytes", peak},
             {"first_step_s", first_step},
             {"flops_per_s", rate},
             {"product_flops_per_s", limits.product},
             {"product_fp32_flops_per_s", limits.fp32},
             {"recorded_operations", recorded},
             {"operations", operations},
             {"layers", layers}});
}

// --cost and what goes with it. Throws UserError.
void CheckCostFlags() {
  if (!FLAGS_cost) {
    if (!FLAGS_gpu.empty()) ThrowUserError("--gpu goes with --cost");
    return;
  }
  if (FLAGS_gpu.empty()) ThrowUserError("--cost needs --gpu, the GPU to price the step on");
  FindGpu("--gpu", FLAGS_gpu);
  if (FLAGS_limit || !FLAGS_profile_out.empty()) {
    ThrowUserError("--cost runs nothing: leave out --limit and --profile_out (gfsim takes --gpu)");
  }
}

class StepBenchmark : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "times training steps of a net and its layers, or prices them for a GPU.";
    spec.usage = {"gfbench [step] --net=FILE [FLAGS]",
                  "gfbench [step] --net=FILE --cost --gpu=NAME [FLAGS]"};
    spec.examples = {
        "gfbench --net=models/alexnet_owt.prototxt --batch=64 --compute=BF16 --layers",
        "gfbench --net=models/resnet50.prototxt --batch=256 --compute=FP16 --cost --gpu=h200"};
    spec.groups = {
        NetFlags(),
        {"Step",
         {"layers", "limit", "forward_only", "fuse", "solver", "profile_out", "cost", "gpu"}},
        CommonFlags()};
    spec.notes =
        "Times whole training steps (forward, backward, update) on synthetic images and prints the "
        "median. On a GPU, the times of the three parts come from other steps, which wait for each "
        "part. The times of layers come from steps that wait for each layer. "
        "The solver is SGD if --solver is not given.\n"
        "\n"
        "--cost runs nothing and needs no GPU: it compiles the net as for the device cuda and "
        "prints, by kind of operation, launches, bytes of memory and FLOPs of a step, and their "
        "times at the rates of the GPU's data sheet and at the shares of these that we assume (80 "
        "% of the memory's, 60 % of the products', 2 us per launch).\n";
    return spec;
  }

  int Run(const Arguments& arguments) override {
    CheckCostFlags();
    NetOptions options = NetOptionsOfFlags();
    CheckCommonFlags();
    CheckJsonFile();
    CheckOutputFile("profile_out", FLAGS_profile_out);
    if ((FLAGS_forward_only || !FLAGS_fuse) && !FLAGS_profile_out.empty()) {
      ThrowUserError("--profile_out is for training steps: leave out --",
                     FLAGS_forward_only ? "forward_only" : "nofuse");
    }
    if (FLAGS_forward_only) options.phase = TEST;
    options.fuse = FLAGS_fuse;
    if (FLAGS_cost) {
      const StepEstimate step = EstimateStep(ReadNet(FLAGS_net), options, SolverSettings(),
                                             FindGpu("--gpu", FLAGS_gpu), "--solver");
      const CostSettings settings = {FLAGS_compute, SolverOfFlag("SGD"), options.allow_tf32,
                                     options.fuse,  options.recompute,   FLAGS_forward_only};
      WriteJson(ReportCost(step, settings, FLAGS_layers));
      return 0;
    }
    const auto device = DeviceOfFlags();
    Net net(ReadNet(FLAGS_net), options, device.get());
    net.InitParameters();
    net.SetBucketEnds({});
    Stepper stepper(&net);
    // Where the host computes, all is done when a call returns: the parts cost no waiting.
    const bool apart = device->shares_host_memory();
    Parts ignored;
    for (int i = 0; i < FLAGS_warmup; ++i) stepper.Step(apart, &ignored);
    // Each step is a repetition, so that the median is that of the steps.
    const auto measure = [&](const std::string& name, bool waits) {
      return Measure(name + net.name(), 1, FLAGS_steps,
                     [&](Parts* parts) { return stepper.Step(waits, parts); });
    };
    Measured step = measure("step/", apart);
    if (!apart && !FLAGS_forward_only) step.parts = measure("step by parts/", true).parts;
    const auto counted = static_cast<double>(device->PeakBytes());
    const double peak = counted > 0 ? counted : PeakBytes();
    Limits limits;
    if (FLAGS_limit) limits = MeasureLimits(options.compute, device.get());
    if (FLAGS_layers || !FLAGS_profile_out.empty()) {
      net.EnableTimes();
      const Measured timed = measure("step by layers/", true);
      if (!FLAGS_profile_out.empty()) {
        WriteProfile(FLAGS_profile_out, net, FLAGS_steps, timed.seconds);
      }
    }
    Report(net, step, stepper.first_step(), peak, limits);
    return 0;
  }
};

GF_REGISTER(CommandRegistry, "step", StepBenchmark);

}  // namespace
}  // namespace gf
