#pragma once

#include <algorithm>
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

// Shares of the samples, see Note [Shares].
struct Shares {
  int world = 1;
  int64_t batch = 1;    // positions of a rank in a row
  double exchange = 1;  // 1 = no shares: every rank trains from all samples
};

// The order of training: an endless sequence of positions, of which each run of `size` is an
// epoch and holds each sample exactly once. Ranks and batches only cut the sequence into
// pieces, so an epoch is the same for any number of ranks, and a batch may span two epochs:
// none is short and nothing is dropped. Remembers the last epoch's order: one per thread.
//
// With a window the shuffle is partial, so that images that are read at about the same time lie
// near each other in the files: runs of kRun neighboring samples are put into a random order, and
// each stretch of `window` samples of the result is shuffled.
//
// Note [Shares]
// With exchange < 1 each rank trains from a share of the samples, so that a cache of that size
// serves it. The samples lie in a random order on a ring that is cut into `world` arcs, the shares.
// A rank goes through its share once in a random order (a pass), then all arcs move on by
// `exchange` of a share: as much is new to each rank, and after 1 / exchange passes all of it. The
// passes of the ranks with the same number hold each sample exactly once. Ranks begin a pass at the
// same step, or some steps apart, since shares differ by one sample. SampleUse.epoch is the pass.
// The order depends on world and batch.
class Sampler {
 public:
  static constexpr int64_t kRun = 256;

  // window: 0 = all samples are shuffled at once.
  // With shares there is no window, and size is at least shares.world.
  Sampler(int64_t size, uint64_t seed, bool shuffle, int64_t window = 0, const Shares& shares = {});

  SampleUse At(int64_t position);

  // Calls f(sample) for the samples that a rank's share lost when it began a pass.
  template <typename F>
  void ForLost(int rank, int64_t pass, const F& f) const {
    if (pass <= 0) return;
    const int64_t begin = ShareBegin(rank, pass - 1);
    const int64_t lost = std::min(moves_, ShareLength(rank));
    for (int64_t i = 0; i < lost; ++i) f(OnRing(begin + i));
  }

 private:
  bool has_shares() const { return shares_.exchange < 1; }
  SampleUse InShare(int64_t position);
  // Where on the ring (modulo size) a rank's share begins.
  int64_t ShareBegin(int rank, int64_t pass) const;
  int64_t ShareLength(int rank) const;
  int64_t OnRing(int64_t place) const;

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
  const Shares shares_;
  int64_t moves_ = 0;  // by so many samples, each pass
  // The rank and pass whose order in_share_ is.
  int share_rank_ = -1;
  int64_t share_pass_ = -1;
  Permutation in_share_;
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
