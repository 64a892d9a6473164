#pragma once

#include "layers/layer.h"

namespace gf {

// Where a batch enters the net: tops with four axes get the images, others the labels. The
// net sets `shape`s of the Input, Data and ImageData layers of a file to the job's batch
// before SetUp (models/inputs.h), so that all of them end up as this layer.
class InputLayer : public Layer {
 public:
  using Layer::Layer;

  int MinBottoms() const override { return 0; }
  int MaxBottoms() const override { return 0; }
  int MaxTops() const override { return -1; }
  void SetUp(const std::vector<Shape>& bottoms) override;
  DType TopType(int top, DType compute) const override {
    return IsImage(top) ? compute : DType::kINT64;
  }
  bool IsImage(int top) const { return tops_[top].rank() == 4 && tops_[top].count(1, 4) > 1; }
};

}  // namespace gf
