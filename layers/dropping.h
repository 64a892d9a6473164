#pragma once

#include <cstdint>

#include "layers/draws.h"
#include "layers/kernel.h"
#include "layers/layer.h"

namespace gf {

// A layer that drops parts of its bottom at random. Phase TRAIN: a part becomes 0 with probability
// ratio(), otherwise it is multiplied by scale() = 1 / (1 - ratio()). Phase TEST: y = x.
class DroppingLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;

  float ratio() const { return ratio_; }
  float scale() const { return 1 / (1 - ratio_); }
  bool identity() const;

  // Number of parts of the bottom. They have equal sizes in memory and follow each other.
  virtual int64_t Parts(const TensorDesc& bottom) const = 0;
  // The parts to keep of the batch `sequence`.
  KeepDraws Draws(const KernelContext& context, uint64_t sequence) const;

 protected:
  // Fails unless 0 <= ratio < 1. `field` is where the ratio comes from.
  void SetRatio(float ratio, const char* field);

 private:
  float ratio_ = 0;
};

// What all kernels of the layer agree on with the net, once the layout of the bottom is set. The
// saved memory has a byte per part: kept or not.
void SetUpDropping(const DroppingLayer& layer, KernelSetup* setup);

}  // namespace gf
