#pragma once

#include <vector>

#include "layers/kernel.h"
#include "layers/layer.h"

namespace gf {

// The type Scale: y = gamma * x (+ beta). The type Bias: y = x + beta. gamma and beta have the
// extents of the axes [axis, axis + num_axes) and are broadcast over the others.
class ScaleLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override;

  // The numbers of these parameters; -1 if there is none.
  int gamma() const { return type() == "Bias" ? -1 : 0; }
  int beta() const;

  // gamma and beta belong to the axes [begin, end) of the bottom.
  int begin() const { return begin_; }
  int end() const { return end_; }

 private:
  int begin_ = 1, end_ = 2;
};

// What all kernels of the layer agree on with the net, once the layout of the bottom is set: the
// layouts of the other tensors, and what backward reads and may overwrite.
void SetUpScale(const ScaleLayer& layer, KernelSetup* setup);

}  // namespace gf
