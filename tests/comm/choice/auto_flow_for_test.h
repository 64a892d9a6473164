#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/comm/flow/gradient_flow_checks.h"

namespace gf {

inline PoolLayout Weights() {
  PoolLayout layout;
  for (int i = 0; i < 4; ++i) {
    PoolEntry entry;
    entry.name = "fc" + std::to_string(i) + ".weight";
    entry.shape = Shape{256, 256};
    layout.Add(entry);
  }
  return layout;
}

inline GradientFlowOptions Automatic() {
  GradientFlowOptions options = FlowOptions(CommConfig::AUTO);
  options.total_steps = 100;
  options.momentum = 0.9f;
  return options;
}

// Sums over a few ranks are exact in BF16.
inline float GradientOf(int64_t element, int step, int rank) {
  return static_cast<float>((element * 7919 + step * 31 + rank * 17) % 127 - 63) / 8;
}

// Runs a step whose gradients depend on the rank and the step. The backward pass takes `seconds`
// per tensor. Returns the sums, 0 where there are none.
inline std::vector<float> Step(TestFlow* f, int step, int rank, double seconds = 0) {
  f->flow->BeginStep(step);
  for (int e = 0; e < static_cast<int>(f->layout.entries().size()); ++e) {
    const PoolEntry& entry = f->layout.entries()[e];
    for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
      f->Set(i, GradientOf(i, step, rank));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    f->flow->GradientsReady({e});
  }
  std::vector<float> sums(f->layout.count());
  f->flow->Finish([&](const std::vector<ElementRange>& ranges) {
    for (const ElementRange& range : ranges) {
      for (int64_t i = range.begin; i < range.end; ++i) sums[i] = f->Get(i);
    }
  });
  return sums;
}

}  // namespace gf
