#pragma once

#include "core/estimate/gpu.h"
#include "core/estimate/operation.h"

namespace gf {

// Seconds that operations take. `memory` sums the operations bound by memory, `arithmetic` those
// bound by products; launches come on top.
struct OperationTime {
  double memory = 0, arithmetic = 0, launches = 0;

  double total() const { return memory + arithmetic + launches; }
  // "memory", "arithmetic" or "launches": the largest part.
  const char* BoundBy() const;
  OperationTime& operator+=(const OperationTime& other);
};

// Time at the data sheet's rates, with launches that take no time: a lower bound.
OperationTime StatedTime(const Operation& operation, const Gpu& gpu);
// Time at the fractions of these rates and with the launch times that the GPU's description
// assumes.
OperationTime AssumedTime(const Operation& operation, const Gpu& gpu);

// FLOP/s of products; types that tensor cores lack run on the other cores.
double FlopsPerSecond(const Gpu& gpu, Arithmetic arithmetic);

}  // namespace gf
