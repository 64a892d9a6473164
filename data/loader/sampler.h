#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace gf {

// A pseudo-random permutation of {0, ..., size - 1}, a pure function of (seed, epoch, part). Any
// element can be computed directly; none is stored. It applies a Feistel network over the next
// power of two until the result is below size (cycle walking; Black and Rogaway, "Ciphers with
// arbitrary finite domains", 2002), with keys from Philox.
class Permutation {
 public:
  Permutation(uint64_t size, uint64_t seed, uint64_t epoch, uint64_t part = 0);

  // Requires i < size.
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

// Settings of Note [Shares].
struct Shares {
  int world = 1;
  int64_t batch = 1;    // consecutive positions of a rank
  double exchange = 1;  // 1 = no shares: every rank trains on all samples
};

// The order of training: an endless sequence of positions. Each run of `size` positions is an epoch
// and holds each sample exactly once. Ranks and batches only cut the sequence into pieces, so an
// epoch is the same for any number of ranks. A batch may span two epochs, so no batch is short and
// no sample is dropped. The object caches the order of the last epoch, so each thread needs its
// own.
//
// With a window the shuffle is partial, so that images read at about the same time are close
// together in the files: runs of kRun neighboring samples are put into random order, and each
// stretch of `window` samples of the result is shuffled.
//
// Note [Shares]
// With exchange < 1, each rank trains on its own share of the samples, so a cache of that size is
// enough. The samples are arranged in random order on a ring, which is cut into `world` arcs, the
// shares. A rank goes through its share once in random order (a pass). Then all arcs move on by
// `exchange` of their length: that fraction of a rank's share is new, and after 1 / exchange passes
// the whole share is. Pass number n of all ranks together holds each sample exactly once. Ranks may
// begin a pass some steps apart, because shares differ by up to one sample. SampleUse.epoch is the
// number of the pass. The order depends on world and batch.
class Sampler {
 public:
  static constexpr int64_t kRun = 256;

  // window: 0 = full shuffle. With shares, window must be 0 and size at least shares.world.
  Sampler(int64_t size, uint64_t seed, bool shuffle, int64_t window = 0, const Shares& shares = {});

  SampleUse At(int64_t position);

  // Calls f(sample) for the samples that left a rank's share at the start of a pass.
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
  // Position on the ring (modulo size) at which a rank's share begins.
  int64_t ShareBegin(int rank, int64_t pass) const;
  int64_t ShareLength(int rank) const;
  int64_t OnRing(int64_t place) const;

  void StartEpoch(int64_t epoch);
  // The sample at a position in the random order of runs.
  int64_t InRuns(int64_t place) const;

  int64_t size_;
  uint64_t seed_;
  bool shuffle_;
  int64_t window_;
  int64_t epoch_ = 0;
  Permutation order_;  // of the samples or, with a window, of runs
  // With a window: position and length of the shorter run, and the last window used.
  int64_t short_run_ = 0, short_length_ = 0;
  int64_t window_number_ = -1;
  Permutation in_window_;
  const Shares shares_;
  int64_t moves_ = 0;  // samples by which shares move after each pass
  // The rank and pass of in_share_.
  int share_rank_ = -1;
  int64_t share_pass_ = -1;
  Permutation in_share_;
};

// The samples [begin, end) of a pass of evaluation.
struct SampleRange {
  int64_t begin, end;
};

// A rank's part of a pass over `size` samples. Parts are contiguous and disjoint, cover all samples
// and differ by at most one sample in length.
SampleRange EvaluationPart(int64_t size, int rank, int world);

// Number of batches of a pass, equal on every rank: the number that the longest part needs.
int64_t EvaluationBatches(int64_t size, int world, int64_t batch);

}  // namespace gf
