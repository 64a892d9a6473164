#pragma once

#include "core/cuda/launch_inline.h"
#include "layers/cuda/batch_norm_kernels.h"

namespace gf {

// Scale and offset of a channel. Writes the numbers of the channel if `writes`.
__device__ inline float2 SetScale(const BatchNormChannels& ch, int c, float mean, float inverse_std,
                                  bool writes) {
  const float scale = (ch.gamma != nullptr ? ch.gamma[c] : 1.f) * inverse_std;
  const float offset = (ch.beta != nullptr ? ch.beta[c] : 0.f) - mean * scale;
  if (writes) {
    ch.mean[c] = mean;
    ch.inverse_std[c] = inverse_std;
    ch.scale[c] = scale;
    ch.offset[c] = offset;
  }
  return {scale, offset};
}

// From the sums of `count` values minus `shift`, and of the squares. Updates the running
// statistics, too, if `writes`.
struct SetStatistics {
  BatchNormChannels ch;
  double count;
  double eps, fraction;

  __device__ float2 operator()(int c, float shift, double sum, double squares, bool writes) const {
    const double delta = sum / count;
    const double mean = shift + delta;
    const double square = squares / count - delta * delta;
    const double variance = square < 0 ? 0 : square;  // NaN stays
    if (writes) {
      ch.running_mean[c] =
          static_cast<float>(fraction * ch.running_mean[c] + (1 - fraction) * mean);
      ch.running_variance[c] = static_cast<float>(fraction * ch.running_variance[c] +
                                                  (1 - fraction) * variance * count / (count - 1));
    }
    return SetScale(ch, c, static_cast<float>(mean), static_cast<float>(1 / sqrt(variance + eps)),
                    writes);
  }
};

inline SetStatistics StatisticsOf(const BatchNormForward& call) {
  return {call.channels, static_cast<double>(call.view.rows), call.eps, call.fraction};
}

// Scales and offsets from where BatchNormForward::with says.
struct ChannelScales {
  SetStatistics set;
  NormalizeWith with;
  const float* sums;

  // `writes`: as above.
  __device__ float2 Of(int c, int channels, bool writes) const {
    const BatchNormChannels& ch = set.ch;
    if (with == NormalizeWith::kSums) return set(c, 0, sums[c], sums[channels + c], writes);
    if (with == NormalizeWith::kChannels) return {ch.scale[c], ch.offset[c]};
    const float variance = ch.running_variance[c] + static_cast<float>(set.eps);
    return SetScale(ch, c, ch.running_mean[c], 1 / sqrtf(variance), writes);
  }
};

inline ChannelScales ScalesOf(const BatchNormForward& call) {
  return {StatisticsOf(call), call.with, call.sums};
}

}  // namespace gf
