#include "comm/topk/segment_work.h"

#include <algorithm>
#include <cmath>

#include "comm/topk/topk_buckets.h"

namespace gf {
namespace {

constexpr uint32_t kInfinity = 0x7f800000u;

}  // namespace

void TopkSegment::Count(const Cut& cut) {
  const auto count = static_cast<int64_t>(values.size());
  larger = Topk().count_from(values.data(), count, cut.bits + 1);
  equal = Topk().count_from(values.data(), count, cut.bits) - larger;
}

SegmentWork::SegmentWork(const TopkPools& pools, const TopkFactors& factors)
    : pools_(pools),
      factors_(factors),
      size_(SizeOf(pools.gradients.desc.dtype)),
      kernels_(pools.gradients.desc.dtype == DType::kFP32 ? Topk().fp32 : Topk().bf16),
      wire_(WireFor(DType::kFP32, pools.wire)) {}

void SegmentWork::Accumulate(float scale, int64_t begin, int64_t end, uint32_t least,
                             TopkSegment* segment) const {
  thread_local std::vector<uint16_t> places(kTopkSegment + kTopkSlack);
  thread_local std::vector<float> values(kTopkSegment + kTopkSlack);
  int64_t found = 0;
  for (int64_t i = begin; i < end; i += kTopkGrain) {
    const int64_t count = std::min(kTopkGrain, end - i);
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

void SegmentWork::Collect(int64_t begin, int64_t end, uint32_t least, TopkSegment* segment) const {
  segment->places.resize(end - begin + kTopkSlack);
  segment->values.resize(end - begin + kTopkSlack);
  const int64_t found = Topk().at_least(Residual(begin), end - begin, least, segment->places.data(),
                                        segment->values.data());
  segment->places.resize(found);
  segment->values.resize(found);
}

void SegmentWork::Write(const Cut& cut, int64_t begin, int64_t end, const TopkSegment& segment,
                        const TopkMessage& message) const {
  const int64_t count = segment.chosen();
  uint16_t* const places = message.places + segment.place;
  float* const h = Residual(begin);
  float* const u = Velocity(begin);
  thread_local std::vector<float> values, sent;
  values.resize(count);
  int64_t written = 0, take = segment.take;
  for (size_t c = 0; c < segment.places.size(); ++c) {
    const uint32_t bits = MagnitudeBits(segment.values[c]);
    if (bits < cut.bits || (bits == cut.bits && take-- <= 0)) continue;
    const uint16_t place = segment.places[c];
    __builtin_prefetch(h + place, /*rw=*/1);
    if (u != nullptr) __builtin_prefetch(u + place, /*rw=*/1);
    places[written] = place;
    values[written++] = segment.values[c];
  }
  sent = values;
  wire_.encode(sent.data(), message.values + segment.place * SizeOf(pools_.wire), count);
  for (int64_t k = 0; k < count; ++k) {
    h[places[k]] = std::isfinite(sent[k]) ? values[k] - sent[k] : 0;
  }
  if (u != nullptr) {
    for (int64_t k = 0; k < count; ++k) {
      if (factors_.masking || !std::isfinite(u[places[k]])) u[places[k]] = 0;
    }
  }
  if (cut.bits >= kInfinity) DropBad(begin, end);  // more than travel are not finite
}

void SegmentWork::DropBad(int64_t begin, int64_t end) const {
  float* const h = Residual(0);
  float* const u = Velocity(0);
  for (int64_t i = begin; i < end; ++i) {
    if (std::isfinite(h[i]) && (u == nullptr || std::isfinite(u[i]))) continue;
    h[i] = 0;
    if (u != nullptr) u[i] = 0;
  }
}

}  // namespace gf
