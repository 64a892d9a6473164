#include "tools/gfbench/step_cost.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/estimate/price.h"
#include "core/readable.h"

namespace gf {
namespace {

using nlohmann::ordered_json;

constexpr double kGiga = 1e9, kTera = 1e12, kMilli = 1e-3, kMicro = 1e-6;

// The sum of some operations.
struct Cost {
  int64_t launches = 0, bytes = 0, flops = 0;
  OperationTime stated, assumed;

  void Add(const Operation& operation, const Gpu& gpu) {
    launches += operation.launches;
    bytes += operation.bytes;
    flops += operation.flops;
    stated += StatedTime(operation, gpu);
    assumed += AssumedTime(operation, gpu);
  }
};

ordered_json ToJson(const std::string& key, const std::string& name, const Cost& cost) {
  return {{key, name},
          {"launches", cost.launches},
          {"bytes", cost.bytes},
          {"flops", cost.flops},
          {"stated_ms", cost.stated.total() / kMilli},
          {"assumed_ms", cost.assumed.total() / kMilli},
          {"bound_by", cost.assumed.BoundBy()}};
}

void PrintRow(const std::string& name, const Cost& cost) {
  std::printf("%-27s %8lld %9.3f %9.4f %11.3f %11.3f  %s\n", name.c_str(),
              static_cast<long long>(cost.launches), static_cast<double>(cost.bytes) / kGiga,
              static_cast<double>(cost.flops) / kTera, cost.stated.total() / kMilli,
              cost.assumed.total() / kMilli, cost.assumed.BoundBy());
}

std::string Milliseconds(const OperationTime& time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", time.total() / kMilli);
  return text;
}

struct LayerCost {
  std::string name;
  Cost forward, backward;
};

// In the order of forward.
std::vector<LayerCost> ByLayer(const StepEstimate& step) {
  std::vector<LayerCost> layers;
  for (const Operation& operation : step.operations) {
    if (operation.layer.empty()) continue;
    auto found = std::find_if(layers.begin(), layers.end(), [&](const LayerCost& layer) {
      return layer.name == operation.layer;
    });
    if (found == layers.end()) found = layers.insert(found, {operation.layer, {}, {}});
    (operation.backward ? found->backward : found->forward).Add(operation, step.gpu);
  }
  return layers;
}

ordered_json ReportLayers(const StepEstimate& step) {
  ordered_json json = ordered_json::array();
  std::printf("\n%-34s %22s %22s\n%-34s %11s %10s %11s %10s\n", "", "stated", "assumed", "layer",
              "forward ms", "back. ms", "forward ms", "back. ms");
  for (const LayerCost& layer : ByLayer(step)) {
    std::printf(
        "%-34s %11s %10s %11s %10s\n", layer.name.c_str(),
        Milliseconds(layer.forward.stated).c_str(), Milliseconds(layer.backward.stated).c_str(),
        Milliseconds(layer.forward.assumed).c_str(), Milliseconds(layer.backward.assumed).c_str());
    json.push_back({{"name", layer.name},
                    {"forward", ToJson("pass", "forward", layer.forward)},
                    {"backward", ToJson("pass", "backward", layer.backward)}});
  }
  return json;
}

void PrintAssumptions(const StepEstimate& step, bool fuse) {
  const Gpu& gpu = step.gpu;
  std::printf(
      "\nAn estimate; nothing ran. stated: at the data sheet's rates (%.2f TB/s; products in FP16\n"
      "%.4g, BF16 %.4g, TF32 %.4g TFLOP/s on tensor cores, else %.4g), launches free: a step\n"
      "larger than the caches takes longer. assumed: %.0f %% of the memory's rate, %.0f %% of the\n"
      "products', %.1f us per launch.\n"
      "Both: one launch per product%s, without workspace, on tensor cores\n"
      "where they have the type. The exchange of gradients and the bus to the host are left out.\n",
      gpu.bytes_per_s / kTera, gpu.fp16 / kTera, gpu.bf16 / kTera, gpu.tf32 / kTera,
      gpu.fp32 / kTera, 100 * gpu.memory_share, 100 * gpu.arithmetic_share, gpu.launch_s / kMicro,
      fuse ? ", with bias and ReLU in it" : " and its bias");
  if (static_cast<double>(step.memory_bytes) > gpu.memory_bytes) {
    std::printf("It does not fit: the GPU has %s.\n", HumanBytes(gpu.memory_bytes).c_str());
  }
}

}  // namespace

ordered_json ReportCost(const StepEstimate& step, const CostSettings& settings, bool layers) {
  const Gpu& gpu = step.gpu;
  std::array<Cost, static_cast<size_t>(OperationKind::kCount)> kinds;
  Cost total;
  for (const Operation& operation : step.operations) {
    kinds[static_cast<size_t>(operation.kind)].Add(operation, gpu);
    total.Add(operation, gpu);
  }
  const auto batch = static_cast<double>(step.batch);
  std::printf("%s, batch %lld, %s%s%s%s, %s, on paper: %s\n", step.net.c_str(),
              static_cast<long long>(step.batch), settings.compute.c_str(),
              settings.allow_tf32 ? " with TF32" : "", settings.fuse ? "" : ", not fused",
              settings.recompute ? ", recompute" : "",
              settings.forward_only ? "forward only" : settings.solver.c_str(), gpu.title.c_str());
  std::printf("%s of memory, without the libraries' own\n\n",
              HumanBytes(static_cast<double>(step.memory_bytes)).c_str());
  std::printf("%-27s %8s %9s %9s %11s %11s  %s\n", "operations", "launches", "GB", "TFLOP",
              "stated ms", "assumed ms", "bound by");
  ordered_json by_kind = ordered_json::array();
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].launches == 0) continue;
    const char* const name = Name(static_cast<OperationKind>(i));
    PrintRow(name, kinds[i]);
    by_kind.push_back(ToJson("kind", name, kinds[i]));
  }
  PrintRow("total", total);
  const OperationTime& time = total.assumed;
  std::printf("%-27s %8s %9s %9s %11.0f %11.0f\n", "images/s", "", "", "",
              batch / total.stated.total(), batch / time.total());
  std::printf("Of the assumed time memory takes %.0f %%, arithmetic %.0f %%, launches %.0f %%.\n",
              100 * time.memory / time.total(), 100 * time.arithmetic / time.total(),
              100 * time.launches / time.total());
  PrintAssumptions(step, settings.fuse);
  for (const std::string& line : step.unfused) std::printf("Not fused: %s.\n", line.c_str());
  const ordered_json by_layer = layers ? ReportLayers(step) : ordered_json::array();
  return {{"estimate", true},
          {"net", step.net},
          {"batch", step.batch},
          {"compute", settings.compute},
          {"allow_tf32", settings.allow_tf32},
          {"fuse", settings.fuse},
          {"recompute", settings.recompute},
          {"forward_only", settings.forward_only},
          {"solver", settings.solver},
          {"parameters", step.parameters},
          {"memory_bytes", step.memory_bytes},
          {"gpu",
           {{"name", gpu.name},
            {"title", gpu.title},
            {"memory_bytes", gpu.memory_bytes},
            {"bytes_per_s", gpu.bytes_per_s},
            {"fp16_flops_per_s", gpu.fp16},
            {"bf16_flops_per_s", gpu.bf16},
            {"tf32_flops_per_s", gpu.tf32},
            {"fp32_flops_per_s", gpu.fp32},
            {"memory_share", gpu.memory_share},
            {"arithmetic_share", gpu.arithmetic_share},
            {"launch_s", gpu.launch_s}}},
          {"kinds", by_kind},
          {"total", ToJson("kind", "total", total)},
          {"stated_images_per_s", batch / total.stated.total()},
          {"assumed_images_per_s", batch / time.total()},
          {"not_fused", step.unfused},
          {"layers", by_layer}};
}

}  // namespace gf
