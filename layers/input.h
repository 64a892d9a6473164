#pragma once

#include "layers/layer.h"

namespace gf {

// The entry of a batch into the net: tops with four axes receive the images, other tops the labels:
// INT64 classes, or with input_param.label_values the numbers of Batch::label_values in the compute
// type. Before SetUp, the net turns every Input and data layer of the file into this layer and sets
// its shapes to the job's batch (models/inputs.h).
class InputLayer : public Layer {
 public:
  using Layer::Layer;

  int MinBottoms() const override { return 0; }
  int MaxBottoms() const override { return 0; }
  int MaxTops() const override { return -1; }
  void SetUp(const std::vector<Shape>& bottoms) override;
  DType TopType(int top, DType compute) const override {
    return IsImage(top) || IsLabelValues(top) ? compute : DType::kINT64;
  }
  bool IsImage(int top) const { return tops_[top].rank() == 4 && tops_[top].count(1, 4) > 1; }
  bool IsLabelValues(int top) const;
};

}  // namespace gf
