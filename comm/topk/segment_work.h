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
  std::vector<float> values;      // likewise, of the residual
  std::vector<float> velocities;  // likewise, if there is a pool of them and `sent`
  bool sent = false;              // the pools hold what would be left if all candidates travelled
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

  // Accumulates gradients times `scale`; candidates are what then has magnitude bits of at least
  // `least`. Sends all candidates while the cache holds them: most of them will be chosen, so
  // taking back the others touches fewer lines of memory.
  void Accumulate(float scale, int64_t begin, int64_t end, uint32_t least,
                  TopkSegment* segment) const;
  // Undoes the sending of all candidates.
  void TakeBack(int64_t begin, TopkSegment* segment) const;
  // Finds candidates anew and sends none.
  void Collect(int64_t begin, int64_t end, uint32_t least, TopkSegment* segment) const;
  // Writes the chosen candidates' part of a message; only they remain sent.
  void Write(const Cut& cut, int64_t begin, int64_t end, const TopkSegment& segment,
             const TopkMessage& message) const;
  // v = u = 0 where one of them is not finite.
  void DropBad(int64_t begin, int64_t end) const;

 private:
  // Leaves in the pools what remains of elements, with these places behind `begin` and these
  // residuals, when they have travelled. `velocities`, if not null, gets those before.
  void Leave(int64_t begin, const uint16_t* places, const float* values, int64_t count,
             float* velocities) const;
  void TakeBack(int64_t begin, const TopkSegment& segment, size_t candidate) const;

  const TopkPools pools_;
  const TopkFactors factors_;
  const size_t size_;  // bytes of a gradient
  const TopkFunctions& kernels_;
  const WireFunctions& wire_;
};

}  // namespace gf
