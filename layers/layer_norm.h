#pragma once

#include <cstdint>
#include <vector>

#include "layers/layer.h"

namespace gf {

// A tensor viewed as [outer][channels][inner]. A row has the numbers of all channels at an index of
// the other two axes; there are outer * inner rows.
struct LayerNormView {
  int64_t outer = 0, channels = 0, inner = 0;
  int64_t rows() const { return outer * inner; }
};

// Layer normalization (J. L. Ba, J. R. Kiros and G. E. Hinton, 2016), as torch.nn.LayerNorm:
//   y = gamma * (x - mean) / sqrt(variance + eps) + beta
// Mean and biased variance are those of a row: the numbers of the axes from `axis` on, or, with
// channels_only, those of axis `axis` alone. gamma and beta are the parameters weight and bias and
// have the extents of these axes; without elementwise_affine they are 1 and 0.
class LayerNormLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
  void SetUp(const std::vector<Shape>& bottoms) override;

  float eps() const;
  // Whether there are gamma and beta.
  bool affine() const;
  // Whether a row has the channels of a pixel, so that rows are contiguous if channels are last.
  bool over_channels() const;
  // The rows of a plain bottom, or of one with channels last (over_channels only).
  LayerNormView View(bool channels_last) const;

 private:
  LayerNormView view_;  // of a plain bottom
  int axis_ = 1;
};

}  // namespace gf
