#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/config/nearest.h"
#include "core/config/solver_facts.h"
#include "core/error.h"
#include "simulate/net_model.h"

namespace gf {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12, kMilli = 1e-3;
// Backward computes two products (gradients of inputs and of weights) for each product of forward.
constexpr double kBackwardPerForward = 2;
// A layer reads its inputs and writes its values.
constexpr double kPassesOverValues = 2;

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The rate of exactly this type for the nearest batch size; null if there is none.
const RateConfig* ExactRate(const NetModel& net, const AcceleratorConfig& device,
                            ComputeType compute) {
  const RateConfig* best = nullptr;
  const auto distance = [&](const RateConfig& rate) {
    return std::abs(std::log(static_cast<double>(rate.batch()) / net.batch));
  };
  for (const RateConfig& rate : device.rate()) {
    if (rate.net() != net.name || rate.compute() != compute) continue;
    if (best == nullptr || distance(rate) < distance(*best)) best = &rate;
  }
  return best;
}

// The entry that would state the rate.
std::string MissingRate(const NetModel& net, ComputeType compute) {
  return StrCat("rate { net: \"", net.name, "\" batch: ", net.batch,
                " compute: ", ComputeType_Name(compute), " images_per_s: ... }");
}

// " (the file has BF16)": the types for which the device has rates of the net.
std::string RatedTypes(const NetModel& net, const AcceleratorConfig& device) {
  std::set<std::string> types;
  for (const RateConfig& rate : device.rate()) {
    if (rate.net() == net.name) types.insert(ComputeType_Name(rate.compute()));
  }
  if (types.empty()) return "";
  return StrCat(" (the file has ", Join({types.begin(), types.end()}), ")");
}

// ExactRate or, for a type of 16 bits, the rate of the other one: tensor cores have the same rate
// for both.
const RateConfig* RateOf(const NetModel& net, const AcceleratorConfig& device, ComputeType compute,
                         const Places& places, std::string* guess) {
  const RateConfig* rate = ExactRate(net, device, compute);
  if (rate != nullptr || compute == FP32) return rate;
  const ComputeType other = compute == FP16 ? BF16 : FP16;
  rate = ExactRate(net, device, other);
  if (rate == nullptr) return nullptr;
  int index = 0;
  while (&device.rate(index) != rate) ++index;
  *guess =
      StrCat(places.Before(StrCat("device.rate[", index, "]")), "no rate of ", net.name, " for ",
             ComputeType_Name(compute), ": guessed to be that of ", ComputeType_Name(other), ", ",
             rate->images_per_s(), " images/s at batch ", rate->batch(),
             "; if the device differs, add ", MissingRate(net, compute), " to device");
  return rate;
}

// For the profile's own batch.
void FromProfile(const NetModel& net, const ProfileConfig& profile, ComputeTimes* times) {
  std::set<std::string> names;
  for (const LayerModel& layer : net.layers) names.insert(layer.name);
  for (const ProfileConfig::Layer& layer : profile.layer()) {
    if (names.count(layer.name())) continue;
    ThrowUserError("profile of ", profile.net(), ": the net ", net.name, " has no layer \"",
                   layer.name(), "\"");
  }
  for (size_t i = 0; i < net.layers.size(); ++i) {
    for (const ProfileConfig::Layer& layer : profile.layer()) {
      if (layer.name() != net.layers[i].name) continue;
      times->backward[i] = layer.backward_ms() * kMilli;
      times->forward[i] = layer.has_forward_ms() ? layer.forward_ms() * kMilli
                                                 : times->backward[i] / kBackwardPerForward;
    }
  }
}

void FromWork(const NetModel& net, const AcceleratorConfig& device, ComputeType compute,
              ComputeTimes* times) {
  const auto bytes = static_cast<double>(SizeOf(ToDType(compute)));
  for (size_t i = 0; i < net.layers.size(); ++i) {
    const LayerModel& layer = net.layers[i];
    const double flops = static_cast<double>(layer.forward_flops) / (device.tflops() * kTera);
    const double memory = kPassesOverValues * bytes * static_cast<double>(layer.values) /
                          (device.memory_gb_s() * kGiga);
    times->forward[i] = std::max(flops, memory);
    times->backward[i] = kBackwardPerForward * times->forward[i];
  }
}

double UpdateTime(const NetModel& net, const UpdateTraffic& traffic, double memory_bytes_per_s) {
  return static_cast<double>(net.layout.parameter_count()) * traffic.update / memory_bytes_per_s;
}

}  // namespace

double ComputeTimes::step() const { return Sum(forward) + Sum(backward) + update + other; }

ComputeTimes PassesOf(const NetModel& net, const ProfileConfig& profile) {
  ComputeTimes times;
  times.forward.resize(net.layers.size());
  times.backward.resize(net.layers.size());
  FromProfile(net, profile, &times);
  const double scale = static_cast<double>(net.batch) / profile.batch();
  for (double& layer : times.forward) layer *= scale;
  for (double& layer : times.backward) layer *= scale;
  return times;
}

UpdateTraffic TrafficOf(const SolverConfig& solver, ComputeType compute) {
  const auto bytes = static_cast<int64_t>(SizeOf(ToDType(compute)));
  const auto gradient = static_cast<double>(bytes);
  UpdateTraffic traffic;
  traffic.update = static_cast<double>(UpdateBytes(SolverFactsOf(solver.type()), bytes));
  const AverageConfig& average = solver.average();
  if (average.decay() > 0) {
    // Reads the weights, reads and writes the average; and back.
    traffic.update +=
        (average.lookahead() ? 24. : 12.) / static_cast<double>(average.interval_steps());
  }
  traffic.keep = gradient + 4 + 4;
  traffic.pack = 2 * gradient;
  traffic.round = 2 * (4 + 4);  // reads and writes gradient and residual
  // Reads the gradient, reads and writes velocity and residual, and clears the gradient.
  traffic.accumulate = 2 * gradient + (solver.momentum() > 0 ? 16 : 8);
  // Reads the gradient, reads and writes the residual; reads it for the right factors, then reads
  // and writes it; writes the gradient.
  traffic.project = gradient + 8;
  traffic.correlate = 4 + 8;
  traffic.expand = gradient;
  // Reads the gradient, reads and writes the residual; writes the gradient; reads and writes the
  // residual. Codes are not counted here. Rotation moves no bytes: it happens in registers.
  traffic.encode = gradient + 8;
  traffic.decode = gradient;
  traffic.keep_lost = 8;
  // Sums are in FP32. Adding reads gradient and sum and writes the sum; merging reads both, writes
  // the gradient and clears the sum.
  const bool adds = solver.iter_size() > 1 ||
                    std::any_of(solver.batch_phase().begin(), solver.batch_phase().end(),
                                [](const BatchPhase& phase) { return phase.iter_size() > 1; });
  traffic.add = gradient + 8;
  traffic.merge = adds ? 2 * gradient + 8 : 0;
  return traffic;
}

void AddProducts(const SolverConfig& solver, const PoolLayout& layout, double flops_per_s,
                 double memory_bytes_per_s, UpdateTraffic* traffic) {
  const double flops = UpdateFlops(solver, layout);
  if (flops == 0) return;
  if (flops_per_s == 0) {
    ThrowUserError("device.tflops is missing: solver.type ", solver.type(),
                   " multiplies matrices in each update");
  }
  traffic->update +=
      flops / flops_per_s * memory_bytes_per_s / static_cast<double>(layout.parameter_count());
}

void LeaveFrozenOut(const NetModel& net, const UpdateTraffic& traffic, double memory_bytes_per_s,
                    ComputeTimes* times) {
  for (size_t i = 0; i < net.layers.size(); ++i) times->backward[i] *= net.layers[i].backward;
  times->update = UpdateTime(net, traffic, memory_bytes_per_s);
}

ComputeTimes StretchedTimes(const ComputeTimes& times, const NetModel& from, const NetModel& to) {
  std::map<std::string, size_t> layers;
  for (size_t i = 0; i < from.layers.size(); ++i) layers[from.layers[i].name] = i;
  ComputeTimes stretched = times;
  stretched.forward.assign(to.layers.size(), 0);
  stretched.backward.assign(to.layers.size(), 0);
  for (size_t i = 0; i < to.layers.size(); ++i) {
    const LayerModel& after = to.layers[i];
    const auto found = layers.find(after.name);
    if (found == layers.end()) continue;
    const LayerModel& before = from.layers[found->second];
    const bool products = before.forward_flops > 0;
    const auto work = [&](const LayerModel& layer) {
      return static_cast<double>(products ? layer.forward_flops : layer.values);
    };
    const double scale = work(before) > 0 ? work(after) / work(before) : 1;
    stretched.forward[i] = scale * times.forward[found->second];
    stretched.backward[i] = scale * times.backward[found->second];
  }
  const double pixels = from.pixels > 0 ? static_cast<double>(to.pixels) / from.pixels : 1;
  stretched.other *= pixels * to.batch / from.batch;
  return stretched;
}

UpdateTraffic TrafficWith(UpdateTraffic traffic, ComputeType compute, bool steps_ahead) {
  if (!steps_ahead) return traffic;
  // Reads weight and residual, writes the compute copy, which in FP32 is there for this alone.
  traffic.ahead = 4 + 4 + static_cast<double>(SizeOf(ToDType(compute)));
  if (compute == FP32) traffic.update += 4;
  return traffic;
}

// Note [Single-device steps]
// The total time of a step on one device is known from its rate. The profile, or FLOPs and bytes,
// divide it among forward and backward passes of the layers. The update takes its bytes divided by
// the memory bandwidth. The remaining time is `other`, the preparation of images. If no time
// remains (the profile comes from other hardware), forward and backward are scaled to fit.
ComputeTimes TimesOf(const NetModel& net, const AcceleratorConfig& device,
                     const ProfileConfig* profile, ComputeType compute,
                     const UpdateTraffic& traffic, const Places& places) {
  ComputeTimes times;
  times.forward.resize(net.layers.size());
  times.backward.resize(net.layers.size());
  const RateConfig* rate = RateOf(net, device, compute, places, &times.guess);
  if (profile == nullptr && !device.has_tflops()) {
    ThrowUserError(
        "device.tflops is missing: without --profile it is needed to divide the step of ", net.name,
        " among its layers");
  }
  double step = 0, scale = 1;
  if (profile != nullptr) {
    FromProfile(net, *profile, &times);
    step = profile->step_ms() * kMilli * net.batch / profile->batch();
    scale = static_cast<double>(net.batch) / profile->batch();
  } else {
    FromWork(net, device, compute, &times);
  }
  if (rate != nullptr) {
    const double rated = net.batch / rate->images_per_s();
    if (step > 0) scale *= rated / step;
    step = rated;
  }
  times.update = UpdateTime(net, traffic, device.memory_gb_s() * kGiga);
  const double passes = Sum(times.forward) + Sum(times.backward);
  const double room = step - times.update;
  if (step > 0 && room <= 0) {
    ThrowUserError("device.memory_gb_s: the update alone takes ", times.update / kMilli,
                   " ms of a step of ", step / kMilli, " ms of ", net.name);
  }
  if (step > 0 && (profile == nullptr || passes * scale > room)) scale = room / passes;
  for (double& layer : times.forward) layer *= scale;
  for (double& layer : times.backward) layer *= scale;
  if (step > 0) {
    times.other = std::max(0.0, room - passes * scale);
    return times;
  }
  times.guess =
      StrCat(places.BeforeMissing("device.rate"), "no rate of ", net.name, " for ",
             ComputeType_Name(compute), RatedTypes(net, device), ": guessed from tflops (",
             device.tflops(), ") and memory_gb_s (", device.memory_gb_s(), ") to be ",
             net.batch / times.step(), " images/s; add ", MissingRate(net, compute),
             " to device, or give --profile or --gpu");
  return times;
}

}  // namespace gf
