#include "comm/topk/topk_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "comm/feedback/feedback_arithmetic.h"
#include "comm/topk/kernels.h"
#include "comm/topk/segment_work.h"
#include "comm/topk/selection.h"
#include "comm/wire/wire.h"
#include "core/parallel.h"

namespace gf {
namespace {

class CpuTopkArithmetic : public TopkArithmetic {
 public:
  CpuTopkArithmetic(const TopkPools& pools, const TopkFactors& factors)
      : pools_(pools),
        factors_(factors),
        size_(SizeOf(pools.gradients.desc.dtype)),
        kernels_(pools.gradients.desc.dtype == DType::kFP32 ? Topk().fp32 : Topk().bf16),
        wire_(WireFor(DType::kFP32, pools.wire)),
        work_(pools, factors) {}

  void SetBuckets(const std::vector<TopkBucket>& buckets) override {
    const bool same_tensors = buckets.size() == buckets_.size();
    buckets_ = buckets;
    least_.resize(buckets.size());
    for (size_t b = 0; b < buckets.size(); ++b) {
      if (!same_tensors) least_[b].assign(buckets[b].entries.size(), kUnknown);
    }
  }

  void Send(int index) override {
    const TopkBucket& bucket = buckets_[index];
    std::vector<uint32_t>* const least = &least_[index];
    segments_.resize(bucket.segments);
    const std::vector<float> scales = ClipScales(bucket);
    ForSegments(bucket, [&](int e, int64_t s, int64_t begin, int64_t end) {
      work_.Accumulate(scales[e], begin, end, (*least)[e], &segments_[s]);
    });
    for (size_t e = 0; e < bucket.entries.size(); ++e) {
      const TopkEntry& entry = bucket.entries[e];
      if (FoundIn(entry) < entry.chosen) Recollect(entry);
    }
    const std::vector<Cut> cuts = FindCuts(bucket);
    ForSegments(bucket, [&](int e, int64_t s, int64_t, int64_t) { segments_[s].Count(cuts[e]); });
    for (size_t e = 0; e < bucket.entries.size(); ++e) {
      Place(bucket.entries[e], cuts[e].equal);
      float smallest;
      std::memcpy(&smallest, &cuts[e].bits, sizeof(smallest));
      (*least)[e] = std::isfinite(smallest) ? MagnitudeBits(kMargin * smallest) : kUnknown;
    }
    const TopkMessage message = MessageAt(bucket, factors_.rank);
    ForSegments(bucket, [&](int e, int64_t s, int64_t begin, int64_t end) {
      const TopkSegment& segment = segments_[s];
      message.ends[s] = static_cast<uint32_t>(segment.place + segment.chosen());
      work_.Write(cuts[e], begin, end, segment, message);
    });
  }

  void Receive(int index) override {
    const TopkBucket& bucket = buckets_[index];
    ForSegments(bucket, [&](int, int64_t s, int64_t begin, int64_t end) {
      std::memset(work_.Gradient(begin), 0, (end - begin) * size_);
      thread_local std::vector<float> values;
      for (int rank = 0; rank < factors_.world; ++rank) {
        const TopkMessage message = MessageAt(bucket, rank);
        const int64_t first = s == 0 ? 0 : message.ends[s - 1];
        const int64_t count = message.ends[s] - first;
        values.resize(std::max<size_t>(values.size(), count));
        wire_.decode(message.values + first * SizeOf(pools_.wire), values.data(), count);
        kernels_.add_at(work_.Gradient(begin), message.places + first, values.data(), count);
      }
    });
  }

  void SendAll(const std::vector<ElementRange>& ranges) override {
    for (const ElementRange& range : ranges) {
      const double squares = factors_.clip > 0 ? Squares(range.begin, range.end) : 0;
      const float scale = ClipScale(squares);
      ParallelFor(range.end - range.begin, kTopkGrain, [&](int64_t first, int64_t last) {
        const int64_t begin = range.begin + first, count = last - first;
        kernels_.accumulate(work_.Gradient(begin), work_.Velocity(begin), work_.Residual(begin),
                            count, scale, factors_.momentum, factors_.nesterov);
        kernels_.send_all(work_.Gradient(begin), work_.Residual(begin), count);
        work_.DropBad(begin, begin + count);
      });
    }
  }

  void Rescale(float factor) override {
    factors_.clip *= factor;
    for (const Tensor* pool : {&pools_.residual, &pools_.velocity}) {
      if (pool->data == nullptr) continue;
      ScaleResidual(pool->as<float>(), pool->desc.storage_count(), factor);
    }
    for (std::vector<uint32_t>& bucket : least_) std::fill(bucket.begin(), bucket.end(), kUnknown);
  }

 private:
  // Candidates of the next step are somewhat smaller than those that were chosen.
  static constexpr float kMargin = 0.93f;
  static constexpr uint32_t kUnknown = 0x7fffffffu;  // nothing is a candidate

  TopkMessage MessageAt(const TopkBucket& bucket, int rank) const {
    uint32_t* const words = pools_.messages.as<uint32_t>() + bucket.words_before * factors_.world +
                            rank * bucket.Words(pools_.wire);
    return {words, reinterpret_cast<uint16_t*>(words + bucket.PlacesAt()),
            reinterpret_cast<char*>(words + bucket.ValuesAt())};
  }

  // body(entry, segment of the bucket, begin, end) in parallel, with elements of the pool.
  template <typename Body>
  void ForSegments(const TopkBucket& bucket, const Body& body) const {
    ParallelFor(bucket.segments, 1, [&](int64_t first, int64_t last) {
      for (size_t e = 0; e < bucket.entries.size(); ++e) {
        const TopkEntry& entry = bucket.entries[e];
        ForSegmentsOf(entry, first, last, [&](int64_t s, int64_t begin, int64_t end) {
          body(static_cast<int>(e), s, begin, end);
        });
      }
    });
  }

  // Of an entry, the segments within [first, last) of the bucket's.
  template <typename Body>
  static void ForSegmentsOf(const TopkEntry& entry, int64_t first, int64_t last, const Body& body) {
    const int64_t end = std::min(last, entry.first_segment + entry.segments);
    for (int64_t s = std::max(first, entry.first_segment); s < end; ++s) {
      const int64_t begin = entry.begin + (s - entry.first_segment) * kTopkSegment;
      body(s, begin, std::min(begin + kTopkSegment, entry.begin + entry.count));
    }
  }

  double Squares(int64_t begin, int64_t end) const {
    double sum = 0;
    for (int64_t i = begin; i < end; i += kTopkSegment) {
      sum += kernels_.squares(work_.Gradient(i), std::min(kTopkSegment, end - i));
    }
    return sum;
  }

  float ClipScale(double squares) const {
    const double norm = std::sqrt(squares);
    return factors_.clip > 0 && norm > factors_.clip ? static_cast<float>(factors_.clip / norm) : 1;
  }

  std::vector<float> ClipScales(const TopkBucket& bucket) const {
    std::vector<float> scales(bucket.entries.size(), 1.f);
    if (factors_.clip <= 0) return scales;
    std::vector<double> squares(bucket.segments);
    ForSegments(bucket, [&](int, int64_t s, int64_t begin, int64_t end) {
      squares[s] = kernels_.squares(work_.Gradient(begin), end - begin);
    });
    for (size_t e = 0; e < scales.size(); ++e) {
      const TopkEntry& entry = bucket.entries[e];
      double sum = 0;
      for (int64_t s = 0; s < entry.segments; ++s) sum += squares[entry.first_segment + s];
      scales[e] = ClipScale(sum);
    }
    return scales;
  }

  int64_t FoundIn(const TopkEntry& entry) const {
    int64_t found = 0;
    for (int64_t s = 0; s < entry.segments; ++s) {
      found += static_cast<int64_t>(segments_[entry.first_segment + s].places.size());
    }
    return found;
  }

  // Finds enough candidates where the threshold of the step before has found too few.
  void Recollect(const TopkEntry& entry) {
    const auto histogram = InParallel<MagnitudeHistogram>(
        entry, [&](int64_t, int64_t begin, int64_t end, MagnitudeHistogram* own) {
          own->Add(work_.Residual(begin), end - begin);
        });
    const uint32_t least = histogram.BinOf(entry.chosen).begin;
    ParallelFor(entry.segments, 1, [&](int64_t first, int64_t last) {
      ForSegmentsOf(entry, entry.first_segment + first, entry.first_segment + last,
                    [&](int64_t s, int64_t begin, int64_t end) {
                      work_.Collect(begin, end, least, &segments_[s]);
                    });
    });
  }

  // The sum of the threads' results over an entry's segments, body(segment, begin, end, result).
  template <typename Result, typename Body>
  static Result InParallel(const TopkEntry& entry, const Body& body) {
    Result sum;
    std::mutex mutex;
    ParallelFor(entry.segments, 1, [&](int64_t first, int64_t last) {
      Result own;
      ForSegmentsOf(entry, entry.first_segment + first, entry.first_segment + last,
                    [&](int64_t s, int64_t begin, int64_t end) { body(s, begin, end, &own); });
      const std::lock_guard<std::mutex> lock(mutex);
      sum.Add(own);
    });
    return sum;
  }

  // The bits of some candidates.
  struct MagnitudeList {
    std::vector<uint32_t> bits;

    void Add(const TopkSegment& segment, const MagnitudeHistogram::Bin& bin) {
      const auto count = static_cast<int64_t>(segment.values.size());
      const size_t before = bits.size();
      bits.resize(before + count + kTopkSlack);
      bits.resize(before + Topk().within(segment.values.data(), count, bin.begin, bin.last,
                                         bits.data() + before));
    }
    void Add(const MagnitudeList& other) {
      bits.insert(bits.end(), other.bits.begin(), other.bits.end());
    }
  };

  std::vector<Cut> FindCuts(const TopkBucket& bucket) const {
    std::vector<Cut> cuts(bucket.entries.size());
    ParallelFor(static_cast<int64_t>(cuts.size()), 1, [&](int64_t first, int64_t last) {
      for (int64_t e = first; e < last; ++e) {
        const TopkEntry& entry = bucket.entries[e];
        if (IsLong(entry)) continue;
        MagnitudeList all;
        for (int64_t s = 0; s < entry.segments; ++s) {
          all.Add(segments_[entry.first_segment + s], MagnitudeHistogram::Bin());
        }
        cuts[e] = CutOf(&all.bits, entry.chosen);
      }
    });
    for (size_t e = 0; e < cuts.size(); ++e) {
      const TopkEntry& entry = bucket.entries[e];
      if (IsLong(entry)) cuts[e] = FindLongCut(entry);
    }
    return cuts;
  }

  // Whether an entry's candidates are worth all threads.
  bool IsLong(const TopkEntry& entry) const { return FoundIn(entry) > 1 << 15; }

  Cut FindLongCut(const TopkEntry& entry) const {
    const auto histogram = InParallel<MagnitudeHistogram>(
        entry, [&](int64_t s, int64_t, int64_t, MagnitudeHistogram* own) {
          own->Add(segments_[s].values.data(), static_cast<int64_t>(segments_[s].values.size()));
        });
    const MagnitudeHistogram::Bin bin = histogram.BinOf(entry.chosen);
    auto in_bin = InParallel<MagnitudeList>(
        entry,
        [&](int64_t s, int64_t, int64_t, MagnitudeList* own) { own->Add(segments_[s], bin); });
    return CutOf(&in_bin.bits, entry.chosen - bin.above);
  }

  // Where the chosen elements of an entry's segments go. `equal`: how many of those at the cut.
  void Place(const TopkEntry& entry, int64_t equal) {
    int64_t place = entry.first_chosen;
    for (int64_t s = 0; s < entry.segments; ++s) {
      TopkSegment& segment = segments_[entry.first_segment + s];
      segment.take = std::min(equal, segment.equal);
      equal -= segment.take;
      segment.place = place;
      place += segment.chosen();
    }
  }

  const TopkPools pools_;
  TopkFactors factors_;
  const size_t size_;  // bytes of a gradient
  const TopkFunctions& kernels_;
  const WireFunctions& wire_;
  const SegmentWork work_;
  std::vector<TopkBucket> buckets_;
  std::vector<std::vector<uint32_t>> least_;  // bits of candidates, by bucket and entry
  std::vector<TopkSegment> segments_;         // of the bucket that is sent
};

const bool registered = TopkArithmeticRegistry::Get().Add(
    "cpu",
    [](Device*, const TopkPools& pools,
       const TopkFactors& factors) -> std::unique_ptr<TopkArithmetic> {
      return std::make_unique<CpuTopkArithmetic>(pools, factors);
    });

}  // namespace
}  // namespace gf
