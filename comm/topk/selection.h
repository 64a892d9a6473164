#pragma once

#include <cstdint>
#include <vector>

namespace gf {

// The largest magnitudes of an FP32 array, found without sorting it.
//
// Note [Selection]
// A magnitude's bits without the sign order as it does, so integers are compared. Whatever way it
// is found, the result is the same: exactly `chosen` elements, of equal ones those in front. As
// most elements of a step are far below the smallest chosen one of the step before, only those not
// much below it are looked at (RedSync, Fang et al., arXiv 1808.04357: a threshold reused over
// steps). Where there are too few of them, a histogram of the leading bits tells where to begin.

// Where the chosen elements begin: those with larger magnitudes are chosen, and the first `equal`
// of those with this one.
struct Cut {
  uint32_t bits = 0;
  int64_t equal = 0;
};

// The bits of |x|.
inline uint32_t MagnitudeBits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits & 0x7fffffffu;
}

// The cut of the `chosen` largest of these bits, 1 <= chosen <= size; reorders them.
Cut CutOf(std::vector<uint32_t>* bits, int64_t chosen);

// Counts of magnitudes by their leading bits.
class MagnitudeHistogram {
 public:
  // The magnitudes with equal leading bits.
  struct Bin {
    uint32_t begin = 0, last = 0x7fffffffu;  // bits
    int64_t above = 0;                       // how many magnitudes are larger
  };

  void Add(const float* values, int64_t count);
  void Add(const MagnitudeHistogram& other);
  // The bin of the `chosen`-th largest magnitude, of which there is one.
  Bin BinOf(int64_t chosen) const;

 private:
  static constexpr int kShift = 18;
  static constexpr int kBins = 1 << (31 - kShift);

  std::vector<int64_t> counts_;  // [kBins] where something was added
};

}  // namespace gf
