#pragma once

#include <vector>

#include "layers/class_axis.h"
#include "layers/layer.h"

namespace gf {

// y = exp(x) / sum over the axis of exp(x)
class SoftmaxLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
  void SetUp(const std::vector<Shape>& bottoms) override;

  const ClassAxis& view() const { return view_; }

 private:
  ClassAxis view_;
};

}  // namespace gf
