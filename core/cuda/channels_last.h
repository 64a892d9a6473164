#pragma once

#include <cstdint>
#include <string>

#include "core/layout.h"
#include "core/shape.h"

namespace gf {

// The order N x spatial x C of a tensor whose plain order is N x C x spatial: "nhwc" for images,
// "krsc" for filters. Any number of spatial axes counts as one.
class ChannelsLast : public DeviceLayout {
 public:
  ChannelsLast(std::string name, int64_t outer, int64_t channels, int64_t spatial)
      : name_(std::move(name)), outer_(outer), channels_(channels), spatial_(spatial) {}

  bool Equals(const DeviceLayout& other) const override;
  int64_t StorageCount() const override { return outer_ * channels_ * spatial_; }
  std::string Name() const override { return name_; }

  int64_t outer() const { return outer_; }
  int64_t channels() const { return channels_; }
  int64_t spatial() const { return spatial_; }

 private:
  const std::string name_;
  const int64_t outer_, channels_, spatial_;
};

// The channels-last layout of a tensor [outer][channels][spatial]; the plain layout if both are
// equal.
Layout ImageLayout(int64_t outer, int64_t channels, int64_t spatial);
Layout FilterLayout(int64_t outer, int64_t channels, int64_t spatial);

// The same for a shape N x C x ... with at least two axes.
Layout ImageLayout(const Shape& shape);
Layout FilterLayout(const Shape& shape);

// The layout that image kernels use: channels last for tensors with spatial axes.
inline Layout WantedLayout(const Shape& shape) {
  return shape.rank() > 2 ? ImageLayout(shape) : Layout();
}

// The layout as a ChannelsLast, or null if it is plain. CHECKs that it does not belong to another
// device.
const ChannelsLast* AsChannelsLast(const Layout& layout);

}  // namespace gf
