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
      if (FoundIn(entry) < entry.chosen) Recollect(bucket, entry);
    }
    std::vector<Cut> cuts(bucket.entries.size());
    ParallelFor(static_cast<int64_t>(cuts.size()), 1, [&](int64_t first, int64_t last) {
      for (int64_t e = first; e < last; ++e) cuts[e] = FindCut(bucket.entries[e]);
    });
    ForSegments(bucket, [&](int e, int64_t s, int64_t begin, int64_t) {
      CountChosen(cuts[e], begin, &segments_[s]);
    });
    for (size_t e = 0; e < bucket.entries.size(); ++e) {
      Place(bucket.entries[e], cuts[e].equal);
      // Somewhat below: magnitudes change from step to step.
      float smallest;
      std::memcpy(&smallest, &cuts[e].bits, sizeof(smallest));
      (*least)[e] = std::isfinite(smallest) ? MagnitudeBits(0.9f * smallest) : kUnknown;
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

  void PackWhole(const std::vector<ElementRange>& ranges) override {
    char* to = pools_.whole.as<char>();
    for (const ElementRange& range : ranges) {
      const size_t bytes = (range.end - range.begin) * size_;
      std::memcpy(to, Gradient(range.begin), bytes);
      to += bytes;
    }
  }

  void UnpackWhole(const std::vector<ElementRange>& ranges) override {
    const char* from = pools_.whole.as<char>();
    for (const ElementRange& range : ranges) {
      const size_t bytes = (range.end - range.begin) * size_;
      std::memcpy(Gradient(range.begin), from, bytes);
      from += bytes;
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
  static constexpr uint32_t kUnknown = 0x7fffffffu;  // more than any number's magnitude

  // A segment of the bucket that is sent.
  struct Segment {
    std::vector<uint16_t> candidates;  // places
    int64_t larger = 0, equal = 0;     // than and to the cut
    int64_t take = 0;                  // of the equal ones
    int64_t place = 0;                 // of the first chosen one in the bucket
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
    thread_local std::vector<uint16_t> places(kTopkSegment);
    int64_t found = 0;
    for (int64_t i = begin; i < end; i += kGrain) {
      const int64_t count = std::min(kGrain, end - i);
      kernels_.accumulate(Gradient(i), Velocity(i), Residual(i), count, scale, factors_.momentum,
                          factors_.nesterov);
      const int64_t more = Topk().at_least(Residual(i), count, least, places.data() + found);
      for (int64_t k = 0; k < more; ++k) places[found + k] += static_cast<uint16_t>(i - begin);
      found += more;
    }
    segment->candidates.assign(places.begin(), places.begin() + found);
  }

  int64_t FoundIn(const TopkEntry& entry) const {
    int64_t found = 0;
    for (int64_t s = 0; s < entry.segments; ++s) {
      found += static_cast<int64_t>(segments_[entry.first_segment + s].candidates.size());
    }
    return found;
  }

  // Finds enough candidates where the threshold of the step before has found too few.
  void Recollect(const TopkBucket& bucket, const TopkEntry& entry) {
    MagnitudeHistogram histogram;
    std::mutex mutex;
    const auto in_parallel = [&](const auto& body) {
      ParallelFor(entry.segments, 1, [&](int64_t first, int64_t last) {
        body(entry.first_segment + first, entry.first_segment + last);
      });
    };
    in_parallel([&](int64_t first, int64_t last) {
      MagnitudeHistogram own;
      ForSegmentsOf(entry, first, last, [&](int64_t, int64_t begin, int64_t end) {
        own.Add(Residual(begin), end - begin);
      });
      const std::lock_guard<std::mutex> lock(mutex);
      histogram.Add(own);
    });
    const uint32_t least = histogram.LeastFor(entry.chosen);
    in_parallel([&](int64_t first, int64_t last) {
      ForSegmentsOf(entry, first, last, [&](int64_t s, int64_t begin, int64_t end) {
        std::vector<uint16_t>* const candidates = &segments_[s].candidates;
        candidates->resize(end - begin);
        candidates->resize(
            Topk().at_least(Residual(begin), end - begin, least, candidates->data()));
      });
    });
  }

  Cut FindCut(const TopkEntry& entry) const {
    std::vector<uint32_t> bits;
    bits.reserve(FoundIn(entry));
    ForSegmentsOf(entry, entry.first_segment, entry.first_segment + entry.segments,
                  [&](int64_t s, int64_t begin, int64_t) {
                    for (const uint16_t place : segments_[s].candidates) {
                      bits.push_back(MagnitudeBits(*Residual(begin + place)));
                    }
                  });
    return CutOf(&bits, entry.chosen);
  }

  void CountChosen(const Cut& cut, int64_t begin, Segment* segment) const {
    segment->larger = segment->equal = 0;
    for (const uint16_t place : segment->candidates) {
      const uint32_t bits = MagnitudeBits(*Residual(begin + place));
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
    thread_local std::vector<float> values;
    values.resize(std::max<size_t>(values.size(), count));
    int64_t written = 0, take = segment.take;
    for (const uint16_t place : segment.candidates) {
      const float value = *Residual(begin + place);
      const uint32_t bits = MagnitudeBits(value);
      if (bits < cut.bits || (bits == cut.bits && take-- <= 0)) continue;
      places[written] = place;
      values[written++] = value;
    }
    float* const h = Residual(begin);
    for (int64_t k = 0; k < count; ++k) h[places[k]] = 0;
    thread_local std::vector<float> sent;
    sent.assign(values.begin(), values.begin() + count);
    wire_.encode(sent.data(), message.values + segment.place * SizeOf(pools_.wire), count);
    for (int64_t k = 0; k < count; ++k) {
      if (std::isfinite(sent[k])) h[places[k]] = values[k] - sent[k];
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
