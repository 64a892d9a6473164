#pragma once

#include <cstdint>
#include <string>

#include "core/layout.h"
#include "core/shape.h"

namespace gf {

// The order N x spatial x C of a tensor whose plain order is N x C x spatial: "nhwc" of images,
// "krsc" of filters. Any number of spatial axes, seen as one.
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

// That layout of a tensor of [outer][channels][spatial]; the plain one where both are the same.
Layout ImageLayout(int64_t outer, int64_t channels, int64_t spatial);
Layout FilterLayout(int64_t outer, int64_t channels, int64_t spatial);

// Of a shape N x C x ... of two axes at least.
Layout ImageLayout(const Shape& shape);
Layout FilterLayout(const Shape& shape);

// The layout in which kernels over images want a tensor: channels last where there is space.
inline Layout WantedLayout(const Shape& shape) {
  return shape.rank() > 2 ? ImageLayout(shape) : Layout();
}

// The layout as a ChannelsLast, null if it is plain. CHECKs that it is no other device's.
const ChannelsLast* AsChannelsLast(const Layout& layout);

}  // namespace gf
