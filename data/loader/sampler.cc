#include "data/loader/sampler.h"

#include <glog/logging.h>

#include <cmath>

#include "core/random.h"

namespace gf {
namespace {

// Mixes 64 bits (two rounds of multiply and shift).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

}  // namespace

Permutation::Permutation(uint64_t size, uint64_t seed, uint64_t epoch, uint64_t part)
    : size_(size) {
  CHECK_GE(size, 1u);
  int bits = 0;
  while (bits < 63 && (uint64_t{1} << bits) < size) ++bits;
  low_bits_ = bits / 2;
  low_mask_ = (uint64_t{1} << low_bits_) - 1;
  high_mask_ = (uint64_t{1} << (bits - low_bits_)) - 1;
  Random random(seed, StreamId(RandomUse::kShuffle, epoch, part));
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

Sampler::Sampler(int64_t size, uint64_t seed, bool shuffle, int64_t window, const Shares& shares)
    : size_(size),
      seed_(seed),
      shuffle_(shuffle),
      window_(window < size ? window : 0),
      order_(size, seed, 0),
      in_window_(1, seed, 0),
      shares_(shares),
      in_share_(1, seed, 0) {
  StartEpoch(0);
  if (!has_shares()) return;
  CHECK(window == 0 && shares.world <= size);
  moves_ = std::llround(shares.exchange * static_cast<double>(size) / shares.world);
}

void Sampler::StartEpoch(int64_t epoch) {
  epoch_ = epoch;
  if (window_ == 0) {
    order_ = Permutation(size_, seed_, epoch);
    return;
  }
  // The `part` of a permutation: 1 for the order of runs, 2 and up for windows.
  const int64_t runs = (size_ + kRun - 1) / kRun;
  order_ = Permutation(runs, seed_, epoch, 1);
  window_number_ = -1;
  short_length_ = size_ - (runs - 1) * kRun;
  for (short_run_ = 0; static_cast<int64_t>(order_(short_run_)) != runs - 1;) ++short_run_;
}

int64_t Sampler::InRuns(int64_t place) const {
  // Treats the short run as if it had full length.
  if (place >= short_run_ * kRun + short_length_) place += kRun - short_length_;
  return static_cast<int64_t>(order_(place / kRun)) * kRun + place % kRun;
}

int64_t Sampler::ShareBegin(int rank, int64_t pass) const {
  return EvaluationPart(size_, rank, shares_.world).begin + pass * moves_;
}

int64_t Sampler::ShareLength(int rank) const {
  const SampleRange part = EvaluationPart(size_, rank, shares_.world);
  return part.end - part.begin;
}

int64_t Sampler::OnRing(int64_t place) const {
  return shuffle_ ? static_cast<int64_t>(order_(place % size_)) : place % size_;
}

SampleUse Sampler::InShare(int64_t position) {
  const int64_t stride = shares_.batch * shares_.world;
  const int rank = static_cast<int>(position % stride / shares_.batch);
  const int64_t own = position / stride * shares_.batch + position % shares_.batch;
  const int64_t length = ShareLength(rank), pass = own / length;
  if (shuffle_ && (pass != share_pass_ || rank != share_rank_)) {
    // Part 0 is the order of the ring.
    in_share_ = Permutation(length, seed_, pass, 1 + rank);
    share_pass_ = pass;
    share_rank_ = rank;
  }
  const int64_t place = shuffle_ ? static_cast<int64_t>(in_share_(own % length)) : own % length;
  return {pass, OnRing(ShareBegin(rank, pass) + place)};
}

SampleUse Sampler::At(int64_t position) {
  if (has_shares()) return InShare(position);
  const int64_t epoch = position / size_, place = position % size_;
  if (!shuffle_) return {epoch, place};
  if (epoch != epoch_) StartEpoch(epoch);
  if (window_ == 0) return {epoch, static_cast<int64_t>(order_(place))};
  const int64_t number = place / window_, first = number * window_;
  if (number != window_number_) {
    const int64_t length = first + window_ < size_ ? window_ : size_ - first;
    in_window_ = Permutation(length, seed_, epoch, 2 + number);
    window_number_ = number;
  }
  return {epoch, InRuns(first + static_cast<int64_t>(in_window_(place - first)))};
}

SampleRange EvaluationPart(int64_t size, int rank, int world) {
  // The first size % world parts have one more sample.
  const int64_t base = size / world, longer = size % world;
  const auto begin = [&](int64_t r) { return base * r + (r < longer ? r : longer); };
  return {begin(rank), begin(rank + 1)};
}

int64_t EvaluationBatches(int64_t size, int world, int64_t batch) {
  const int64_t longest = (size + world - 1) / world;
  return (longest + batch - 1) / batch;
}

}  // namespace gf
