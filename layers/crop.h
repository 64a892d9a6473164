#pragma once

#include <cstdint>
#include <vector>

#include "layers/layer.h"

namespace gf {

// A part of a plain tensor with the extents `dims`: along axis i, extents[i] indices from
// offsets[i] on.
struct CropBox {
  std::vector<int64_t> dims, extents, offsets;
};

// The same part with as few axes as possible, at least one.
CropBox Simplified(const CropBox& box);

// The part of bottom 0 that has the extents of bottom 1 along the axes from `axis` on. Of bottom 1
// only the shape counts.
class CropLayer : public Layer {
 public:
  using Layer::Layer;
  int MinBottoms() const override { return 2; }
  int MaxBottoms() const override { return 2; }
  void SetUp(const std::vector<Shape>& bottoms) override;
  bool ReadsShapeOnly(int bottom) const override { return bottom == 1; }

  // Whether the top has all channels (axis 1) of bottom 0.
  bool keeps_channels() const;
  // The top as a part of bottom 0, simplified. Both are stored as [N][C / block][spatial][block],
  // where C / block is rounded up; 1 is the plain order. Unless the layer keeps the channels,
  // `block` must be 1 or C.
  CropBox Box(int64_t block) const;
  // The top as a part of bottom 0, by axis.
  const CropBox& box() const { return box_; }

 private:
  CropBox box_;  // by axis of the bottom
};

}  // namespace gf
