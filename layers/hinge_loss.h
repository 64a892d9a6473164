#pragma once

#include <vector>

#include "layers/class_axis.h"
#include "layers/kernel.h"
#include "layers/loss.h"

namespace gf {

// The hinge loss of a support vector machine per class (bottom 0: scores, N x classes after
// flattening; bottom 1: N INT64 labels), divided by the N samples:
//   sum over the samples n and classes k of max(0, 1 - delta_nk x_nk), with norm L2 of its square,
// where delta_nk is 1 for k = label_n and -1 for others. Top: the loss, one FP32 number.
class HingeLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  void SetUp(const std::vector<Shape>& bottoms) override;
  bool Differentiable(int bottom) const override { return bottom == 0; }

  bool squared() const;  // norm L2
  const ClassAxis& view() const { return view_; }
  // Divisor of the sum over `samples` samples: their number, at least 1.
  double Normalizer(int64_t samples) const;

 private:
  ClassAxis view_;
};

// The agreement of all kernels of this layer with the net. Forward has scratch memory for a loss
// per sample.
void SetUpHingeLoss(const HingeLossLayer& layer, KernelSetup* setup);

}  // namespace gf
