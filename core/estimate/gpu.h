#pragma once

#include <string>
#include <vector>

namespace gf {

// What its vendor's data sheet says of a GPU, and how much of it a step is assumed to get.
struct Gpu {
  std::string name;   // "h200"
  std::string title;  // "NVIDIA H200 SXM"
  double memory_bytes = 0;
  double bytes_per_s = 0;  // of its memory
  // FLOP/s of products without sparsity: on tensor cores, 0 where they lack the type, ...
  double fp16 = 0, bf16 = 0, tf32 = 0;
  double fp32 = 0;  // ... and on the other cores

  // Assumptions, not from the data sheet: the shares of bytes_per_s and of FLOP/s that kernels
  // reach, and the seconds between the end of a kernel and the start of the next one of a graph.
  double memory_share = 0.8, arithmetic_share = 0.6;
  double launch_s = 2e-6;
};

// All that are known, by name.
const std::vector<Gpu>& KnownGpus();

// The GPU of that name. Throws UserError 'unknown <what> "<name>" (known: ...)'.
const Gpu& FindGpu(const std::string& what, const std::string& name);

}  // namespace gf
