#pragma once

#include <cstdint>
#include <vector>

#include "comm/topk/kernels.h"
#include "comm/topk/selection.h"
#include "comm/topk/topk_arithmetic.h"
#include "comm/wire/wire.h"

namespace gf {

constexpr int64_t kTopkGrain = 4096;  // elements whose pools the cache holds

// The candidates in a segment of the bucket that is sent.
struct TopkSegment {
  std::vector<uint16_t> places;   // of candidates
  std::vector<float> values;      // likewise
  int64_t larger = 0, equal = 0;  // than and to the cut
  int64_t take = 0;               // of the equal ones
  int64_t place = 0;              // of the first chosen one in the bucket

  int64_t chosen() const { return larger + take; }
  // Sets `larger` and `equal`.
  void Count(const Cut& cut);
};

// A rank's message, see Note [Messages of TOPK].
struct TopkMessage {
  uint32_t* ends;
  uint16_t* places;
  char* values;
};

// TOPK's work on single segments, [begin, end) of the pools, on the processor; for many threads.
class SegmentWork {
 public:
  SegmentWork(const TopkPools& pools, const TopkFactors& factors);

  char* Gradient(int64_t i) const { return pools_.gradients.as<char>() + i * size_; }
  float* Residual(int64_t i) const { return pools_.residual.as<float>() + i; }
  // Null: there is no momentum.
  float* Velocity(int64_t i) const {
    return pools_.velocity.data == nullptr ? nullptr : pools_.velocity.as<float>() + i;
  }

  // Accumulates gradients times `scale`. Finds candidates, residuals whose magnitude then has bits
  // of at least `least`, while the cache holds them.
  void Accumulate(float scale, int64_t begin, int64_t end, uint32_t least,
                  TopkSegment* segment) const;
  // Finds candidates anew.
  void Collect(int64_t begin, int64_t end, uint32_t least, TopkSegment* segment) const;
  // Writes the chosen candidates' part of a message. The pools keep the rest.
  void Write(const Cut& cut, int64_t begin, int64_t end, const TopkSegment& segment,
             const TopkMessage& message) const;
  // v = u = 0 where one of them is not finite.
  void DropBad(int64_t begin, int64_t end) const;

 private:
  const TopkPools pools_;
  const TopkFactors factors_;  // clip is not used: Rescale changes it
  const size_t size_;          // bytes of a gradient
  const TopkFunctions& kernels_;
  const WireFunctions& wire_;
};

}  // namespace gf
