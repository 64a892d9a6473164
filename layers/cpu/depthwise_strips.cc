#include "layers/cpu/depthwise_strips.h"

#include "core/parallel.h"
#include "layers/cpu/elementwise.h"

namespace gf {

DepthwiseStrips::DepthwiseStrips(const ChannelView& images, const ChannelView& results)
    : images_(images), results_(results), multiplier_(results.channels / images.channels) {
  int64_t channel = 0;
  while (channel < images.padded_channels()) {
    int64_t lanes = images.block;
    if (images.channels_last) {
      const int64_t left = images.channels - channel;
      lanes = left >= 16 ? 16 : left >= 8 ? 8 : 1;
    }
    strips_.push_back({static_cast<int>(lanes), channel});
    channel += lanes;
  }
}

template <typename F>
void DepthwiseStrips::ForNumbers(const DepthwiseStrip& strip, int64_t taps, const F& f) const {
  const int64_t first = strip.channel * multiplier_;
  for (int64_t i = 0; i < multiplier_ * strip.lanes; ++i) {
    const int64_t piece = first + i / strip.lanes * strip.lanes, lane = i % strip.lanes;
    const int64_t channel = first + i;
    for (int64_t tap = 0; tap < taps; ++tap) {
      f(piece * taps + tap * strip.lanes + lane,
        channel < results_.channels ? channel * taps + tap : -1);
    }
  }
}

void DepthwiseStrips::Pack(const float* plain, int64_t taps, float* packed) const {
  ParallelFor(static_cast<int64_t>(strips_.size()), 16, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      ForNumbers(strips_[s], taps,
                 [&](int64_t to, int64_t from) { packed[to] = from < 0 ? 0.f : plain[from]; });
    }
  });
}

void DepthwiseStrips::AddParts(const float* packed, int64_t parts, int64_t taps, DType type,
                               void* plain) const {
  const int64_t count = this->packed() * taps;
  ParallelFor(static_cast<int64_t>(strips_.size()), 16, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      ForNumbers(strips_[s], taps, [&](int64_t from, int64_t to) {
        if (to < 0) return;
        float sum = 0;
        for (int64_t part = 0; part < parts; ++part) sum += packed[part * count + from];
        StoreElement(plain, to, type, sum);
      });
    }
  });
}

}  // namespace gf
