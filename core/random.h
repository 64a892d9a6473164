#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace gf {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four
// random words as a pure function of a 64-bit key and a 128-bit counter. It is constexpr so that
// GPU kernels can call it.
constexpr std::array<uint32_t, 4> Philox(uint64_t key, uint64_t stream, uint64_t index) {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                               static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// Purpose of a random stream. It is part of every stream's name, so that streams never overlap.
enum class RandomUse : uint64_t {
  kInit = 1,
  kDropout = 2,
  kShuffle = 3,
  kAugment = 4,
  kDraw = 5,
  kMix = 6,
};

// Name of a stream, from its purpose and two numbers (epoch and sample, layer and step, ...).
inline uint64_t StreamId(RandomUse use, uint64_t a, uint64_t b = 0) {
  const auto mixed = Philox(static_cast<uint64_t>(use), a, b);
  return (uint64_t{mixed[1]} << 32) | mixed[0];
}

// Uniform in [0, 1) with 24 bits.
constexpr float ToUniform(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

// Sequential draws from one stream. The i-th draw depends only on (seed, stream, i).
class Random {
 public:
  Random(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  uint32_t Next() {
    if (used_ == 4) {
      block_ = Philox(seed_, stream_, index_++);
      used_ = 0;
    }
    return block_[used_++];
  }

  // Uniform in [0, 1).
  float Uniform() { return ToUniform(Next()); }

  // Uniform in {0, ..., n - 1}, n >= 1, without modulo bias.
  uint64_t Below(uint64_t n) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t value;
    do {
      value = (uint64_t{Next()} << 32) | Next();
    } while (value >= limit);
    return value % n;
  }

  // Normal with mean 0 and variance 1 (Box-Muller; the second number of the pair is discarded).
  float Gaussian() {
    const double u = (Next() + 0.5) * 0x1p-32, v = (Next() + 0.5) * 0x1p-32;
    return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979324 * v));
  }

 private:
  uint64_t seed_, stream_, index_ = 0;
  std::array<uint32_t, 4> block_ = {};
  int used_ = 4;
};

}  // namespace gf
