#pragma once

#include <cstdint>
#include <vector>

#include "core/cpu/channel_view.h"
#include "core/dtype.h"

namespace gf {

// Neighboring channels of images that one call of a depthwise kernel handles.
struct DepthwiseStrip {
  int lanes;        // 16, 8 or 1
  int64_t channel;  // the first
};

// Note [Several filters per channel]
// A strip of `lanes` channels has multiplier * lanes results: `multiplier` pieces of `lanes`
// neighbors. Lane l of piece j is a result of lane (j * lanes + l) / multiplier of the strip. So
// each piece is a depthwise convolution of a copy of the strip that has its lanes in that order,
// and the gradients of the copies are added up. Packed filters and biases have the order
// [strip][piece][tap][lane] (a bias has one tap); those of padding are zero.
class DepthwiseStrips {
 public:
  DepthwiseStrips() = default;
  // `images` and `results` have equal forms: blocks of 16 or 8 channels, nhwc, or plain.
  DepthwiseStrips(const ChannelView& images, const ChannelView& results);

  const std::vector<DepthwiseStrip>& all() const { return strips_; }
  int64_t multiplier() const { return multiplier_; }
  // Numbers of a packed bias; packed filters have as many per tap.
  int64_t packed() const { return images_.padded_channels() * multiplier_; }

  // The first channel of x, an image of the images, and of y, an image of the results.
  template <typename T>
  T* AtImages(T* x, int64_t image, int64_t channel) const {
    return x + Offset(images_, image, channel);
  }
  template <typename T>
  T* AtResults(T* y, int64_t image, int64_t channel) const {
    return y + Offset(results_, image, channel);
  }
  // Elements from pixel to pixel.
  int64_t image_step() const { return Step(images_); }
  int64_t result_step() const { return Step(results_); }

  // Calls f(j, channel) for the pieces of a strip whose results exist; `channel` is the first of
  // them. The packed filters of the piece begin at channel * taps.
  template <typename F>
  void ForPieces(const DepthwiseStrip& strip, const F& f) const {
    for (int64_t j = 0; j < multiplier_; ++j) {
      const int64_t channel = strip.channel * multiplier_ + j * strip.lanes;
      if (channel < results_.padded_channels()) f(j, channel);
    }
  }

  // From plain [results][taps] to packed order.
  void Pack(const float* plain, int64_t taps, float* packed) const;
  // Adds up `parts` arrays in packed order, one behind another, in that order, and stores the sums
  // in plain order with this type.
  void AddParts(const float* packed, int64_t parts, int64_t taps, DType type, void* plain) const;

 private:
  static int64_t Offset(const ChannelView& view, int64_t image, int64_t channel) {
    return image * view.padded_channels() * view.spatial +
           (view.channels_last ? channel : channel * view.spatial);
  }
  static int64_t Step(const ChannelView& view) {
    return view.channels_last ? view.channels : view.block;
  }
  // Calls f(packed, plain) with the indices of the numbers of a tap of a strip; `plain` is -1 for
  // padding.
  template <typename F>
  void ForNumbers(const DepthwiseStrip& strip, int64_t taps, const F& f) const;

  ChannelView images_, results_;
  int64_t multiplier_ = 1;
  std::vector<DepthwiseStrip> strips_;
};

}  // namespace gf
