#pragma once

#include <array>
#include <cstdint>

namespace gf {

// A pseudo-random order of {0, ..., size - 1}, a pure function of (seed, epoch, part): any
// element can be computed at once, and none is stored. A Feistel network over the next power
// of two, applied until the result is below size (cycle walking; Black and Rogaway,
// "Ciphers with arbitrary finite domains", 2002), with keys from Philox.
class Permutation {
 public:
  Permutation(uint64_t size, uint64_t seed, uint64_t epoch, uint64_t part = 0);

  // i < size
  uint64_t operator()(uint64_t i) const;

 private:
  static constexpr int kRounds = 10;

  uint64_t size_;
  int low_bits_;
  uint64_t low_mask_, high_mask_;
  std::array<uint64_t, kRounds> keys_;
};

// One use of one sample.
struct SampleUse {
  int64_t epoch, index;
};

// The order of training: an endless sequence of positions, of which each run of `size` is an
// epoch and holds each sample exactly once. Ranks and batches only cut the sequence into
// pieces, so an epoch is the same for any number of ranks, and a batch may span two epochs:
// none is short and nothing is dropped. Remembers the last epoch's order: one per thread.
//
// With a window the shuffle is partial, so that images that are read at about the same time lie
// near each other in the files: runs of kRun neighbouring samples are put into a random order, and
// each stretch of `window` samples of the result is shuffled.
class Sampler {
 public:
  static constexpr int64_t kRun = 256;

  // window: 0 = all samples are shuffled at once.
  Sampler(int64_t size, uint64_t seed, bool shuffle, int64_t window = 0);

  SampleUse At(int64_t position);

 private:
  void StartEpoch(int64_t epoch);
  // The sample at a place of the random order of runs.
  int64_t InRuns(int64_t place) const;

  int64_t size_;
  uint64_t seed_;
  bool shuffle_;
  int64_t window_;
  int64_t epoch_ = 0;
  Permutation order_;  // of the samples or, with a window, of the runs
  // With a window: where among the runs the one lies that is shorter, and the last window used.
  int64_t short_run_ = 0, short_length_ = 0;
  int64_t window_number_ = -1;
  Permutation in_window_;
};

// Samples [begin, end) of a pass of evaluation.
struct SampleRange {
  int64_t begin, end;
};

// This rank's part of a pass over `size` samples: parts are contiguous, disjoint, cover all
// samples and differ by at most one in length.
SampleRange EvaluationPart(int64_t size, int rank, int world);

// Batches of a pass, the same on every rank: what the longest part needs.
int64_t EvaluationBatches(int64_t size, int world, int64_t batch);

}  // namespace gf
