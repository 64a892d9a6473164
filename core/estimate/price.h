#pragma once

#include "core/estimate/gpu.h"
#include "core/estimate/operation.h"

namespace gf {

// Seconds that operations take: what their bytes and their products alone would need, summed over
// the operations that each of them bounds, and the launches.
struct OperationTime {
  double memory = 0, arithmetic = 0, launches = 0;

  double total() const { return memory + arithmetic + launches; }
  // "memory", "arithmetic" or "launches": the largest part.
  const char* BoundBy() const;
  OperationTime& operator+=(const OperationTime& other);
};

// At the data sheet's rates, with launches that take no time: no step is faster.
OperationTime StatedTime(const Operation& operation, const Gpu& gpu);
// With the shares and launches that the description of the GPU assumes.
OperationTime AssumedTime(const Operation& operation, const Gpu& gpu);

// FLOP/s of products; those whose type the tensor cores lack are done by the other cores.
double FlopsPerSecond(const Gpu& gpu, Arithmetic arithmetic);

}  // namespace gf
