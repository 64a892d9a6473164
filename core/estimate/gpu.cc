#include "core/estimate/gpu.h"

#include "core/error.h"

namespace gf {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12;

// `tera_flops`: FP16, BF16, TF32, FP32.
Gpu Make(const char* name, const char* title, int capability, double gigabytes,
         double gigabytes_per_s, const double (&tera_flops)[4]) {
  Gpu gpu;
  gpu.name = name;
  gpu.title = title;
  gpu.capability = capability;
  gpu.memory_bytes = gigabytes * kGiga;
  gpu.bytes_per_s = gigabytes_per_s * kGiga;
  gpu.fp16 = tera_flops[0] * kTera;
  gpu.bf16 = tera_flops[1] * kTera;
  gpu.tf32 = tera_flops[2] * kTera;
  gpu.fp32 = tera_flops[3] * kTera;
  return gpu;
}

}  // namespace

// From NVIDIA's data sheets; half of the stated rate where they only give rates with sparsity. The
// B200 is one GPU of an HGX B200 (Blackwell architecture technical brief).
const std::vector<Gpu>& KnownGpus() {
  static const auto* const gpus = new std::vector<Gpu>{
      Make("a100", "NVIDIA A100 80GB SXM", 8, 80, 2039, {312, 312, 156, 19.5}),
      Make("b200", "NVIDIA B200 SXM", 10, 180, 8000, {2250, 2250, 1100, 80}),
      Make("h100", "NVIDIA H100 SXM", 9, 80, 3350, {989.5, 989.5, 494.5, 67}),
      Make("h200", "NVIDIA H200 SXM", 9, 141, 4800, {989.5, 989.5, 494.5, 67}),
      Make("l40s", "NVIDIA L40S", 8, 48, 864, {362, 362, 183, 91.6}),
      Make("t4", "NVIDIA T4", 7, 16, 320, {65, 0, 0, 8.1}),
  };
  return *gpus;
}

const Gpu& FindGpu(const std::string& what, const std::string& name) {
  std::string names;
  for (const Gpu& gpu : KnownGpus()) {
    if (gpu.name == name) return gpu;
    names += (names.empty() ? "" : ", ") + gpu.name;
  }
  ThrowUserError("unknown ", what, " \"", name, "\" (known: ", names, ")");
}

}  // namespace gf
