#include "data/sampler.h"

#include <glog/logging.h>

#include "core/random.h"

namespace gf {
namespace {

// A mixer of 64 bits (two rounds of multiply and shift).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

}  // namespace

Permutation::Permutation(uint64_t size, uint64_t seed, uint64_t epoch) : size_(size) {
  CHECK_GE(size, 1u);
  int bits = 0;
  while (bits < 63 && (uint64_t{1} << bits) < size) ++bits;
  low_bits_ = bits / 2;
  low_mask_ = (uint64_t{1} << low_bits_) - 1;
  high_mask_ = (uint64_t{1} << (bits - low_bits_)) - 1;
  Random random(seed, StreamId(RandomUse::kShuffle, epoch));
  for (uint64_t& key : keys_) {
    key = uint64_t{random.Next()} << 32;
    key |= random.Next();
  }
}

uint64_t Permutation::operator()(uint64_t i) const {
  do {
    uint64_t low = i & low_mask_, high = i >> low_bits_;
    for (int round = 0; round < kRounds; round += 2) {
      high ^= Mix(low + keys_[round]) & high_mask_;
      low ^= Mix(high + keys_[round + 1]) & low_mask_;
    }
    i = high << low_bits_ | low;
  } while (i >= size_);
  return i;
}

Sampler::Sampler(int64_t size, uint64_t seed, bool shuffle)
    : size_(size), seed_(seed), shuffle_(shuffle), order_(size, seed, 0) {}

SampleUse Sampler::At(int64_t position) {
  const int64_t epoch = position / size_, place = position % size_;
  if (!shuffle_) return {epoch, place};
  if (epoch != epoch_) {
    order_ = Permutation(size_, seed_, epoch);
    epoch_ = epoch;
  }
  return {epoch, static_cast<int64_t>(order_(place))};
}

SampleRange EvaluationPart(int64_t size, int rank, int world) {
  // The first size % world parts are one longer.
  const int64_t base = size / world, longer = size % world;
  const auto begin = [&](int64_t r) { return base * r + (r < longer ? r : longer); };
  return {begin(rank), begin(rank + 1)};
}

int64_t EvaluationBatches(int64_t size, int world, int64_t batch) {
  const int64_t longest = (size + world - 1) / world;
  return (longest + batch - 1) / batch;
}

}  // namespace gf
