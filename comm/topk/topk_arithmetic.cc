#include "comm/topk/topk_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "comm/feedback/feedback_arithmetic.h"
#include "comm/topk/kernels.h"
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
        wire_(WireFor(DType::kFP32, pools.wire)) {}

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
      Accumulate(scales[e], begin, end, (*least)[e], &segments_[s]);
    });
    for (size_t e = 0; e < bucket.entries.size(); ++e) {
      const TopkEntry& entry = bucket.entries[e];
      if (FoundIn(entry) < entry.chosen) Recollect(entry);
    }
    const std::vector<Cut> cuts = FindCuts(bucket);
    ForSegments(bucket,
                [&](int e, int64_t s, int64_t, int64_t) { CountChosen(cuts[e], &segments_[s]); });
    for (size_t e = 0; e < bucket.entries.size(); ++e) {
      Place(bucket.entries[e], cuts[e].equal);
      float smallest;
      std::memcpy(&smallest, &cuts[e].bits, sizeof(smallest));
      (*least)[e] = std::isfinite(smallest) ? MagnitudeBits(kMargin * smallest) : kUnknown;
    }
    const Message message = MessageAt(bucket, factors_.rank);
    ForSegments(bucket, [&](int e, int64_t s, int64_t begin, int64_t end) {
      Write(cuts[e], begin, end, s, message);
    });
  }

  void Receive(int index) override {
    const TopkBucket& bucket = buckets_[index];
    ForSegments(bucket, [&](int, int64_t s, int64_t begin, int64_t end) {
      std::memset(Gradient(begin), 0, (end - begin) * size_);
      thread_local std::vector<float> values;
      for (int rank = 0; rank < factors_.world; ++rank) {
        const Message message = MessageAt(bucket, rank);
        const int64_t first = s == 0 ? 0 : message.ends[s - 1];
        const int64_t count = message.ends[s] - first;
        values.resize(std::max<size_t>(values.size(), count));
        wire_.decode(message.values + first * SizeOf(pools_.wire), values.data(), count);
        kernels_.add_at(Gradient(begin), message.places + first, values.data(), count);
      }
    });
  }

  void SendAll(const std::vector<ElementRange>& ranges) override {
    for (const ElementRange& range : ranges) {
      const double squares = factors_.clip > 0 ? Squares(range.begin, range.end) : 0;
      const float scale = ClipScale(squares);
      ParallelFor(range.end - range.begin, kGrain, [&](int64_t first, int64_t last) {
        const int64_t begin = range.begin + first, count = last - first;
        kernels_.accumulate(Gradient(begin), Velocity(begin), Residual(begin), count, scale,
                            factors_.momentum, factors_.nesterov);
        kernels_.send_all(Gradient(begin), Residual(begin), count);
        DropBad(begin, begin + count);
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
  static constexpr int64_t kGrain = 4096;  // elements that a thread takes at once, at least
  // Candidates of the next step are somewhat smaller than those that were chosen.
  static constexpr float kMargin = 0.93f;
  static constexpr uint32_t kUnknown = 0x7fffffffu;  // nothing is a candidate

  // A segment of the bucket that is sent.
  struct Segment {
    std::vector<uint16_t> places;   // of candidates
    std::vector<float> values;      // likewise
    int64_t larger = 0, equal = 0;  // than and to the cut
    int64_t take = 0;               // of the equal ones
    int64_t place = 0;              // of the first chosen one in the bucket
  };

  // A rank's message, see Note [Messages of TOPK].
  struct Message {
    uint32_t* ends;
    uint16_t* places;
    char* values;
  };

  Message MessageAt(const TopkBucket& bucket, int rank) const {
    uint32_t* const words = pools_.messages.as<uint32_t>() + bucket.words_before * factors_.world +
                            rank * bucket.Words(pools_.wire);
    return {words, reinterpret_cast<uint16_t*>(words + bucket.PlacesAt()),
            reinterpret_cast<char*>(words + bucket.ValuesAt())};
  }

  char* Gradient(int64_t i) const { return pools_.gradients.as<char>() + i * size_; }
  float* Residual(int64_t i) const { return pools_.residual.as<float>() + i; }
  float* Velocity(int64_t i) const {
    return pools_.velocity.data == nullptr ? nullptr : pools_.velocity.as<float>() + i;
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
      sum += kernels_.squares(Gradient(i), std::min(kTopkSegment, end - i));
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
      squares[s] = kernels_.squares(Gradient(begin), end - begin);
    });
    for (size_t e = 0; e < scales.size(); ++e) {
      const TopkEntry& entry = bucket.entries[e];
      double sum = 0;
      for (int64_t s = 0; s < entry.segments; ++s) sum += squares[entry.first_segment + s];
      scales[e] = ClipScale(sum);
    }
    return scales;
  }

  // Finds candidates while what was accumulated is in the cache.
  void Accumulate(float scale, int64_t begin, int64_t end, uint32_t least, Segment* segment) const {
    thread_local std::vector<uint16_t> places(kTopkSegment + kTopkSlack);
    thread_local std::vector<float> values(kTopkSegment + kTopkSlack);
    int64_t found = 0;
    for (int64_t i = begin; i < end; i += kGrain) {
      const int64_t count = std::min(kGrain, end - i);
      kernels_.accumulate(Gradient(i), Velocity(i), Residual(i), count, scale, factors_.momentum,
                          factors_.nesterov);
      const int64_t more =
          Topk().at_least(Residual(i), count, least, places.data() + found, values.data() + found);
      for (int64_t k = 0; k < more; ++k) places[found + k] += static_cast<uint16_t>(i - begin);
      found += more;
    }
    segment->places.assign(places.begin(), places.begin() + found);
    segment->values.assign(values.begin(), values.begin() + found);
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
          own->Add(Residual(begin), end - begin);
        });
    const uint32_t least = histogram.BinOf(entry.chosen).begin;
    ParallelFor(entry.segments, 1, [&](int64_t first, int64_t last) {
      ForSegmentsOf(entry, entry.first_segment + first, entry.first_segment + last,
                    [&](int64_t s, int64_t begin, int64_t end) {
                      Segment& segment = segments_[s];
                      segment.places.resize(end - begin + kTopkSlack);
                      segment.values.resize(end - begin + kTopkSlack);
                      const int64_t found =
                          Topk().at_least(Residual(begin), end - begin, least,
                                          segment.places.data(), segment.values.data());
                      segment.places.resize(found);
                      segment.values.resize(found);
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

  std::vector<Cut> FindCuts(const TopkBucket& bucket) const {
    std::vector<Cut> cuts(bucket.entries.size());
    ParallelFor(static_cast<int64_t>(cuts.size()), 1, [&](int64_t first, int64_t last) {
      for (int64_t e = first; e < last; ++e) {
        const TopkEntry& entry = bucket.entries[e];
        if (!IsLong(entry)) cuts[e] = FindCut(entry, {});
      }
    });
    for (size_t e = 0; e < cuts.size(); ++e) {
      const TopkEntry& entry = bucket.entries[e];
      if (IsLong(entry)) cuts[e] = FindCut(entry, CountCandidates(entry));
    }
    return cuts;
  }

  // Whether an entry's candidates are worth all threads.
  bool IsLong(const TopkEntry& entry) const { return FoundIn(entry) > 1 << 15; }

  MagnitudeHistogram CountCandidates(const TopkEntry& entry) const {
    return InParallel<MagnitudeHistogram>(
        entry, [&](int64_t s, int64_t, int64_t, MagnitudeHistogram* own) {
          own->Add(segments_[s].values.data(), static_cast<int64_t>(segments_[s].values.size()));
        });
  }

  // `histogram`: of the candidates, or empty.
  Cut FindCut(const TopkEntry& entry, const MagnitudeHistogram& histogram) const {
    const MagnitudeHistogram::Bin bin = histogram.BinOf(entry.chosen);
    std::vector<uint32_t> bits;
    for (int64_t s = entry.first_segment; s < entry.first_segment + entry.segments; ++s) {
      for (const float value : segments_[s].values) {
        const uint32_t magnitude = MagnitudeBits(value);
        if (magnitude >= bin.begin && magnitude <= bin.last) bits.push_back(magnitude);
      }
    }
    return CutOf(&bits, entry.chosen - bin.above);
  }

  static void CountChosen(const Cut& cut, Segment* segment) {
    segment->larger = segment->equal = 0;
    for (const float value : segment->values) {
      const uint32_t bits = MagnitudeBits(value);
      segment->larger += bits > cut.bits;
      segment->equal += bits == cut.bits;
    }
  }

  // Where the chosen elements of an entry's segments go. `equal`: how many of those at the cut.
  void Place(const TopkEntry& entry, int64_t equal) {
    int64_t place = entry.first_chosen;
    for (int64_t s = 0; s < entry.segments; ++s) {
      Segment& segment = segments_[entry.first_segment + s];
      segment.take = std::min(equal, segment.equal);
      equal -= segment.take;
      segment.place = place;
      place += segment.larger + segment.take;
    }
  }

  void Write(const Cut& cut, int64_t begin, int64_t end, int64_t s, const Message& message) const {
    const Segment& segment = segments_[s];
    const int64_t count = segment.larger + segment.take;
    message.ends[s] = static_cast<uint32_t>(segment.place + count);
    uint16_t* const places = message.places + segment.place;
    thread_local std::vector<float> values, sent;
    values.resize(count);
    int64_t written = 0, take = segment.take;
    for (size_t c = 0; c < segment.places.size(); ++c) {
      const uint32_t bits = MagnitudeBits(segment.values[c]);
      if (bits < cut.bits || (bits == cut.bits && take-- <= 0)) continue;
      places[written] = segment.places[c];
      values[written++] = segment.values[c];
    }
    sent = values;
    wire_.encode(sent.data(), message.values + segment.place * SizeOf(pools_.wire), count);
    float* const h = Residual(begin);
    for (int64_t k = 0; k < count; ++k) {
      h[places[k]] = std::isfinite(sent[k]) ? values[k] - sent[k] : 0;
    }
    float* const u = Velocity(begin);
    if (u != nullptr) {
      for (int64_t k = 0; k < count; ++k) {
        if (factors_.masking || !std::isfinite(u[places[k]])) u[places[k]] = 0;
      }
    }
    if (cut.bits >= kInfinity) DropBad(begin, end);  // more than travel are not finite
  }

  // v = u = 0 where one of them is not finite.
  void DropBad(int64_t begin, int64_t end) const {
    float* const h = Residual(0);
    float* const u = Velocity(0);
    for (int64_t i = begin; i < end; ++i) {
      if (std::isfinite(h[i]) && (u == nullptr || std::isfinite(u[i]))) continue;
      h[i] = 0;
      if (u != nullptr) u[i] = 0;
    }
  }

  static constexpr uint32_t kInfinity = 0x7f800000u;

  const TopkPools pools_;
  TopkFactors factors_;
  const size_t size_;  // bytes of a gradient
  const TopkFunctions& kernels_;
  const WireFunctions& wire_;
  std::vector<TopkBucket> buckets_;
  std::vector<std::vector<uint32_t>> least_;  // bits of candidates, by bucket and entry
  std::vector<Segment> segments_;             // of the bucket that is sent
};

const bool registered = TopkArithmeticRegistry::Get().Add(
    "cpu",
    [](Device*, const TopkPools& pools,
       const TopkFactors& factors) -> std::unique_ptr<TopkArithmetic> {
      return std::make_unique<CpuTopkArithmetic>(pools, factors);
    });

}  // namespace
}  // namespace gf
