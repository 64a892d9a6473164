#pragma once

#include <vector>

#include "layers/kernel.h"
#include "layers/loss.h"

namespace gf {

// The loss of pairs of samples (bottoms 0 and 1, equal numbers of samples and of numbers per
// sample) at the Euclidean distance d: similar pairs should be near, others at least `margin`
// apart. Bottom 2 has an INT64 label per pair: not 0 means similar. With N pairs
//   1 / 2N * sum over the pairs of  d^2                 if the pair is similar,
//                                   max(0, margin - d)^2  otherwise (legacy: max(0, margin - d^2)).
// From R. Hadsell, S. Chopra and Y. LeCun, "Dimensionality Reduction by Learning an Invariant
// Mapping", CVPR 2006. The gradient divides by d + 1e-4 in place of d, as in Caffe, so that it is
// finite for equal samples. Top: the loss, one FP32 number.
class ContrastiveLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  int MinBottoms() const override { return 3; }
  int MaxBottoms() const override { return 3; }
  void SetUp(const std::vector<Shape>& bottoms) override;
  bool Differentiable(int bottom) const override { return bottom < 2; }

  float margin() const;
  bool legacy() const;
  // Pairs, and numbers of a sample.
  int64_t pairs() const { return pairs_; }
  int64_t inner() const { return inner_; }
  // N above, where `pairs` count; at least 1.
  double Normalizer(int64_t pairs) const;

 private:
  int64_t pairs_ = 0, inner_ = 0;
};

// The gradient divides by d plus this number, so that it stays finite at d = 0.
constexpr float kContrastiveLeastDistance = 1e-4f;

// The agreement of all kernels of this layer with the net. Forward has scratch memory for a loss
// per pair.
void SetUpContrastiveLoss(const ContrastiveLossLayer& layer, KernelSetup* setup);

}  // namespace gf
