#include "comm/topk/segment_work.h"

#include <algorithm>
#include <cmath>

#include "comm/topk/topk_buckets.h"

namespace gf {
namespace {

constexpr uint32_t kInfinity = 0x7f800000u;

}  // namespace

void TopkSegment::Count(const Cut& cut) {
  larger = equal = 0;
  for (const float value : values) {
    const uint32_t bits = MagnitudeBits(value);
    larger += bits > cut.bits;
    equal += bits == cut.bits;
  }
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
  thread_local std::vector<float> velocities(kTopkSegment);
  int64_t found = 0;
  for (int64_t i = begin; i < end; i += kTopkGrain) {
    const int64_t count = std::min(kTopkGrain, end - i);
    kernels_.accumulate(Gradient(i), Velocity(i), Residual(i), count, scale, factors_.momentum,
                        factors_.nesterov);
    const int64_t more =
        Topk().at_least(Residual(i), count, least, places.data() + found, values.data() + found);
    Leave(i, places.data() + found, values.data() + found, more, velocities.data() + found);
    for (int64_t k = 0; k < more; ++k) places[found + k] += static_cast<uint16_t>(i - begin);
    found += more;
  }
  segment->places.assign(places.begin(), places.begin() + found);
  segment->values.assign(values.begin(), values.begin() + found);
  if (Velocity(0) != nullptr) {
    segment->velocities.assign(velocities.begin(), velocities.begin() + found);
  }
  segment->sent = true;
}

void SegmentWork::Leave(int64_t begin, const uint16_t* places, const float* values, int64_t count,
                        float* velocities) const {
  thread_local std::vector<float> sent;
  thread_local std::vector<char> coded;
  sent.assign(values, values + count);
  coded.resize(count * SizeOf(pools_.wire));
  wire_.encode(sent.data(), coded.data(), count);
  float* const h = Residual(begin);
  for (int64_t k = 0; k < count; ++k) {
    h[places[k]] = std::isfinite(sent[k]) ? values[k] - sent[k] : 0;
  }
  float* const u = Velocity(begin);
  if (u == nullptr) return;
  for (int64_t k = 0; k < count; ++k) {
    float* const velocity = u + places[k];
    if (velocities != nullptr) velocities[k] = *velocity;
    if (factors_.masking || !std::isfinite(*velocity)) *velocity = 0;
  }
}

void SegmentWork::TakeBack(int64_t begin, const TopkSegment& segment, size_t candidate) const {
  const int64_t at = begin + segment.places[candidate];
  *Residual(at) = segment.values[candidate];
  if (Velocity(0) != nullptr) *Velocity(at) = segment.velocities[candidate];
}

void SegmentWork::TakeBack(int64_t begin, TopkSegment* segment) const {
  for (size_t c = 0; c < segment->places.size(); ++c) TakeBack(begin, *segment, c);
  segment->sent = false;
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
  thread_local std::vector<float> values;
  values.resize(count);
  int64_t written = 0, take = segment.take;
  for (size_t c = 0; c < segment.places.size(); ++c) {
    const uint32_t bits = MagnitudeBits(segment.values[c]);
    if (bits < cut.bits || (bits == cut.bits && take-- <= 0)) {
      if (segment.sent) TakeBack(begin, segment, c);
      continue;
    }
    places[written] = segment.places[c];
    values[written++] = segment.values[c];
  }
  if (!segment.sent) Leave(begin, places, values.data(), count, nullptr);
  wire_.encode(values.data(), message.values + segment.place * SizeOf(pools_.wire), count);
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
