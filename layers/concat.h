#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// Concatenates its bottoms along an axis.
class ConcatLayer : public Layer {
 public:
  using Layer::Layer;
  int MaxBottoms() const override { return -1; }
  void SetUp(const std::vector<Shape>& bottoms) override;

  int axis() const { return axis_; }

 private:
  int axis_ = 1;
};

}  // namespace gf
