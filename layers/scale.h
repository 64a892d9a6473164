#pragma once

#include <vector>

#include "layers/kernel.h"
#include "layers/layer.h"

namespace gf {

// The type Scale: y = gamma * x (+ beta). The type Bias: y = x + beta. The type PReLU: y = x for
// x >= 0, gamma * x elsewhere (He et al., arXiv 1502.01852). gamma and beta have the extents of the
// axes [axis, axis + num_axes) and are broadcast over the others; of PReLU, one value per channel
// or one for all.
class ScaleLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override;

  // The numbers of these parameters; -1 if there is none.
  int gamma() const { return type() == "Bias" ? -1 : 0; }
  int beta() const;
  // Whether gamma belongs to negative numbers only.
  bool negative_only() const { return type() == "PReLU"; }

  // gamma and beta belong to the axes [begin, end) of the bottom.
  int begin() const { return begin_; }
  int end() const { return end_; }

 private:
  // The axis and num_axes of the layer's settings, and gamma's initial values.
  int FirstAxis() const;
  int AxisCount() const;
  FillerParameter GammaFiller() const;

  int begin_ = 1, end_ = 2;
};

// What all kernels of the layer agree on with the net, once the layout of the bottom is set: the
// layouts of the other tensors, and what backward reads and may overwrite.
void SetUpScale(const ScaleLayer& layer, KernelSetup* setup);

// Entry i, or null if i is -1.
template <typename T>
T* EntryOrNull(const std::vector<T*>& all, int i) {
  return i < 0 ? nullptr : all[i];
}

}  // namespace gf
