#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layers/interp_inline.h"
#include "layers/layer.h"

namespace gf {

// Bilinear resizing of N x C x H x W with aligned corners (InterpAxis), as PyTorch's
// interpolate(mode="bilinear", align_corners=True). The size is that of interp_param, or that of a
// second bottom, of which only the shape counts.
class InterpLayer : public Layer {
 public:
  using Layer::Layer;
  int MaxBottoms() const override { return 2; }
  void SetUp(const std::vector<Shape>& bottoms) override;
  bool ReadsShapeOnly(int bottom) const override { return bottom == 1; }

  // From the rows and columns of the bottom to those of the top.
  const InterpAxis& rows() const { return rows_; }
  const InterpAxis& columns() const { return columns_; }

 private:
  // Fails if the settings do not go together.
  void CheckSettings(bool has_reference) const;
  // `own`: height or width of interp_param; `reference`: that of the second bottom, or 0.
  InterpAxis AxisFor(const std::string& what, int64_t in, int64_t own, int64_t reference) const;

  InterpAxis rows_, columns_;
};

}  // namespace gf
