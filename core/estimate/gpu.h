#pragma once

#include <string>
#include <vector>

namespace gf {

// Rates of a GPU from its vendor's data sheet, and the assumed fraction of them that a step
// reaches.
struct Gpu {
  std::string name;    // "h200"
  int capability = 0;  // the major number of the compute capability
  std::string title;   // "NVIDIA H200 SXM"
  double memory_bytes = 0;
  double bytes_per_s = 0;  // memory bandwidth
  // FLOP/s of products without sparsity: on tensor cores (0 if they lack the type) ...
  double fp16 = 0, bf16 = 0, tf32 = 0;
  double fp32 = 0;  // ... and on other cores

  // Assumptions, not from the data sheet: the fractions of bytes_per_s and FLOP/s that kernels
  // reach, and the seconds between the end of a kernel and the start of the next kernel in a graph.
  double memory_share = 0.8, arithmetic_share = 0.6;
  double launch_s = 2e-6;
};

// All known GPUs, sorted by name.
const std::vector<Gpu>& KnownGpus();

// The GPU with this name. Throws UserError 'unknown <what> "<name>" (known: ...)'.
const Gpu& FindGpu(const std::string& what, const std::string& name);

}  // namespace gf
