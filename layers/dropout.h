#pragma once

#include <vector>

#include "layers/dropping.h"

namespace gf {

// Drops single elements, in the order of their storage.
class DropoutLayer : public DroppingLayer {
 public:
  using DroppingLayer::DroppingLayer;
  void SetUp(const std::vector<Shape>& bottoms) override;
  int64_t Parts(const TensorDesc& bottom) const override { return bottom.storage_count(); }
};

}  // namespace gf
