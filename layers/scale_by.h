#pragma once

#include <vector>

#include "layers/kernel.h"
#include "layers/layer.h"

namespace gf {

// y = factor * x (+ addend), or y = x + factor. The factor has the extents of the axes [begin, end)
// of x and is broadcast over the others; the addend has the shape of x. The type Axpy has the
// bottoms factor (N x C, or N x C x 1 x 1), x and addend. The type ScaleBy has the bottoms x and
// factor and takes `axis` from scale_param; a Scale layer with two bottoms becomes one. The type
// BiasBy adds its factor, and takes `axis` from bias_param; a Bias layer with two bottoms becomes
// one.
class ScaleByLayer : public Layer {
 public:
  using Layer::Layer;
  int MinBottoms() const override { return is_axpy() ? 3 : 2; }
  int MaxBottoms() const override { return MinBottoms(); }
  void SetUp(const std::vector<Shape>& bottoms) override;

  // The numbers of these bottoms; `addend` is -1 if there is none.
  int x() const { return is_axpy() ? 1 : 0; }
  int factor() const { return is_axpy() ? 0 : 1; }
  int addend() const { return is_axpy() ? 2 : -1; }

  // Whether y = x + factor.
  bool adds() const { return type() == "BiasBy"; }

  // The factor belongs to the axes [begin, end) of x.
  int begin() const { return begin_; }
  int end() const { return end_; }

 private:
  bool is_axpy() const { return type() == "Axpy"; }

  int begin_ = 0, end_ = 0;
};

// What all kernels of the layer agree on with the net, once the layout of x is set: the layouts of
// the other tensors, and what backward reads and may overwrite.
void SetUpScaleBy(const ScaleByLayer& layer, KernelSetup* setup);

}  // namespace gf
