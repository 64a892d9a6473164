#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define GF_ROTATION_FUNCTION __host__ __device__ inline
#else
#define GF_ROTATION_FUNCTION static inline
#endif

namespace gf {

// Note [Rotation]
// x' = H D x / 16: D changes signs at random, H is the Hadamard matrix of 256 rows in its natural
// order, of ones and minus ones (THC, Li et al., arXiv 2302.08545). Its inverse is D H / 16. H is
// eight rounds of sums and differences of elements whose places differ in one bit, from the lowest
// bit to the highest: the same bits on every device.

// 32 signs of the block that begins with element `begin` of the pool, of elements 32 * word on; a
// bit that is set changes the sign. The same on all ranks and in all steps.
GF_ROTATION_FUNCTION uint32_t RotationSigns(int64_t begin, int word) {
  // The finalizer of MurmurHash3.
  uint32_t x = static_cast<uint32_t>(begin / 32) + static_cast<uint32_t>(word) + 0x9e3779b9u;
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

// What is smaller, 2^-100, is not worth keeping: residuals stay far from subnormal numbers, of
// which scaling by powers of two loses bits.
constexpr float kLeastKept = 7.888609052210118e-31f;

}  // namespace gf

#undef GF_ROTATION_FUNCTION
