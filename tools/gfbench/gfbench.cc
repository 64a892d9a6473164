// gfbench: how long a training step takes, and each layer of it.

#include <gflags/gflags.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/device.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/random_words.h"
#include "core/telemetry.h"
#include "models/net.h"
#include "solvers/solver.h"
#include "tools/flags.h"

DEFINE_string(net, "", "the network, a prototxt file");
DEFINE_string(input, "", "C x H x W of the images where the net does not say, e.g. 3x32x32");
DEFINE_int32(batch, 64, "images per step");
DEFINE_string(compute, "FP32", "FP32 or BF16");
DEFINE_int32(threads, 0, "compute threads, 0 = one per processor");
DEFINE_int32(steps, 10, "steps that are timed");
DEFINE_int32(warmup, 2, "steps before that");
DEFINE_bool(layers, false, "also print each layer's times");
DEFINE_bool(forward_only, false, "time the evaluation net instead of training steps");
DEFINE_bool(recompute, false, "recompute batch norms in backward to save memory");
DEFINE_string(json, "", "write the figures to this file, too");

namespace gf {
namespace {

constexpr char kUsage[] =
    "gfbench --net=FILE [--batch=64] [--compute=FP32|BF16] [--threads=N] [--layers] [--json=FILE]\n"
    "\n"
    "Times whole training steps (forward, backward, SGD update) of a net on synthetic images and\n"
    "prints the median. --layers adds each layer's share.\n"
    "\n"
    "  gfbench --net=models/alexnet_owt.prototxt --batch=64 --compute=BF16 --layers\n";

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds since this process was started.
double SinceStart() {
  std::ifstream stat("/proc/self/stat"), uptime("/proc/uptime");
  std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  double up = 0;
  uptime >> up;
  const size_t after_name = text.rfind(')');
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(text.substr(after_name + 2));
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i) {
  }
  return up - std::stod(field) / sysconf(_SC_CLK_TCK);
}

double PeakBytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024.0;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Shape ParseShape(const std::string& text) {
  std::vector<int64_t> dims;
  std::istringstream in(text);
  std::string part;
  while (std::getline(in, part, 'x')) {
    char* end = nullptr;
    dims.push_back(std::strtol(part.c_str(), &end, 10));
    if (*end != 0 || dims.back() <= 0) ThrowUserError("--input=", text, ": expected e.g. 3x32x32");
  }
  if (!dims.empty() && dims.size() != 3)
    ThrowUserError("--input=", text, ": expected e.g. 3x32x32");
  return Shape(dims);
}

Batch SyntheticBatch(const Net& net) {
  Batch batch;
  batch.images.desc = {net.input_shape(), DType::kUINT8, Layout()};
  const int64_t count = net.input_shape().count();
  auto pixels = std::make_shared<std::vector<uint8_t>>(count);
  constexpr int64_t kChunk = 1024;
  ParallelFor(count, kChunk, [&](int64_t begin, int64_t end) {
    uint32_t words[kChunk];
    for (int64_t at = begin; at < end; at += kChunk) {
      const int64_t some = std::min(end - at, kChunk);
      RandomWords().fill(1, StreamId(RandomUse::kDraw, 0), at, some, words);
      for (int64_t i = 0; i < some; ++i) (*pixels)[at + i] = words[i] >> 24;
    }
  });
  batch.images.data = pixels->data();
  batch.images.owner = pixels;
  const int64_t channels = net.input_shape()[1];
  batch.mean.assign(channels, 127.f);
  batch.inverse_std.assign(channels, 1 / 64.f);
  Random random(1, StreamId(RandomUse::kDraw, 1));
  for (int64_t i = 0; i < net.input_shape()[0]; ++i) {
    batch.labels.push_back(random.Below(std::max<int64_t>(net.classes(), 1)));
  }
  return batch;
}

int Main(int argc, char** argv) {
  const int parsed = ParseFlags(argc, argv, {__FILE__, kUsage, "", nullptr, {}});
  if (parsed >= 0) return parsed;
  if (FLAGS_net.empty()) ThrowUserError("--net is missing\n", kUsage);
  if (FLAGS_steps < 1 || FLAGS_batch < 1 || FLAGS_warmup < 0 || FLAGS_threads < 0) {
    ThrowUserError("--steps and --batch must be at least 1, --warmup and --threads at least 0");
  }
  NetOptions options;
  options.phase = FLAGS_forward_only ? TEST : TRAIN;
  if (FLAGS_compute != "FP32" && FLAGS_compute != "BF16") {
    ThrowUserError("--compute=", FLAGS_compute, ": expected FP32 or BF16");
  }
  options.compute = FLAGS_compute == "BF16" ? DType::kBF16 : DType::kFP32;
  options.batch_size = FLAGS_batch;
  options.recompute = FLAGS_recompute;
  options.image_shape = ParseShape(FLAGS_input);
  const auto device = DeviceRegistry::Get().Create("device", "cpu", FLAGS_threads);
  Net net(ReadNet(FLAGS_net), options, device.get());
  net.InitParameters();
  SolverConfig config;
  config.set_base_lr(0.001f);
  config.set_weight_decay(5e-4f);
  const auto solver = SolverRegistry::Get().Create("solver", "SGD", config, net.parameters().get());
  const Batch batch = SyntheticBatch(net);
  const int last_entry = static_cast<int>(net.parameters()->layout().entries().size()) - 1;

  std::vector<double> steps, forwards, backwards, updates;
  double first_step = 0;
  for (int step = -FLAGS_warmup; step < FLAGS_steps; ++step) {
    if (step == 0 && FLAGS_layers) net.EnableTimes();
    const double start = Now();
    net.Forward(batch, step + FLAGS_warmup);
    const double forward = Now();
    double backward = forward, update = forward;
    if (!FLAGS_forward_only) {
      net.Backward(1, nullptr);
      backward = Now();
      solver->Update(0, last_entry, 0.001, 1);
      net.parameters()->BumpVersion();
      update = Now();
    }
    if (first_step == 0) first_step = SinceStart();
    if (step < 0) continue;
    forwards.push_back(forward - start);
    backwards.push_back(backward - forward);
    updates.push_back(update - backward);
    steps.push_back(update - start);
  }

  const double step = Median(steps);
  std::printf("%s, batch %d, %s, %s\n", net.name().c_str(), FLAGS_batch, FLAGS_compute.c_str(),
              device->Description().c_str());
  std::printf("step %.2f ms (median of %d): forward %.2f, backward %.2f, update %.2f\n", step * 1e3,
              FLAGS_steps, Median(forwards) * 1e3, Median(backwards) * 1e3, Median(updates) * 1e3);
  std::printf("%.2f images/s, peak memory %s (activations %s), start to first step %.2f s\n",
              FLAGS_batch / step, HumanBytes(PeakBytes()).c_str(),
              HumanBytes(static_cast<double>(net.arena_bytes())).c_str(), first_step);
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  if (FLAGS_layers) {
    std::printf("\n%-34s %-16s %10s %10s %10s\n", "layer", "type", "forward ms", "back. ms",
                "GFLOP/s");
    for (const NetOp& op : net.ops()) {
      const double forward = op.forward_seconds / FLAGS_steps,
                   backward = op.backward_seconds / FLAGS_steps;
      const double rate =
          op.forward_flops * (FLAGS_forward_only ? 1.0 : 3.0) / (forward + backward) / 1e9;
      std::printf("%-34s %-16s %10.3f %10.3f %10.1f\n", op.name.c_str(), op.type.c_str(),
                  forward * 1e3, backward * 1e3, rate);
      layers.push_back({{"name", op.name},
                        {"type", op.type},
                        {"forward_ms", forward * 1e3},
                        {"backward_ms", backward * 1e3},
                        {"forward_flops", op.forward_flops}});
    }
  }
  if (!FLAGS_json.empty()) {
    std::ofstream out(FLAGS_json);
    nlohmann::ordered_json result = {{"net", net.name()},
                                     {"batch", FLAGS_batch},
                                     {"compute", FLAGS_compute},
                                     {"device", device->Description()},
                                     {"step_ms", step * 1e3},
                                     {"forward_ms", Median(forwards) * 1e3},
                                     {"backward_ms", Median(backwards) * 1e3},
                                     {"update_ms", Median(updates) * 1e3},
                                     {"images_per_s", FLAGS_batch / step},
                                     {"peak_bytes", PeakBytes()},
                                     {"first_step_s", first_step},
                                     {"layers", layers}};
    out << result.dump(1) << "\n";
    if (!out.flush()) ThrowUserError("cannot write ", FLAGS_json);
  }
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(&gf::Main, argc, argv); }
