#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layers/activation.h"
#include "layers/kernel.h"
#include "layers/layer.h"
#include "layers/pointwise_inline.h"

namespace gf {

// y = f(x) for each element, where the layer's type and settings choose f. Backward reads the
// bottom (SetUpActivation).
class PointwiseLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
  void SetUp(const std::vector<Shape>& bottoms) override;
  const Pointwise& function() const { return function_; }

 private:
  Pointwise Exponential() const;
  Pointwise Logarithm() const;
  Pointwise Function() const;
  // Fails unless `base` is -1 (for e) or a base of logarithms.
  void CheckBase(float base, const char* field) const;

  Pointwise function_;
};

// Registers the kernel that make(layer, context) returns for a device and every type above.
template <typename Make>
bool AddPointwiseKernels(const std::string& device, const Make& make) {
  for (const char* type : {"AbsVal", "BNLL", "Clip", "ELU", "Exp", "GELU", "HardSwish", "Log",
                           "Power", "SiLU", "Swish"}) {
    KernelRegistry::Get().Add(
        device + "/" + type,
        [make](const Layer& layer, const KernelContext& context) -> std::unique_ptr<Kernel> {
          return make(static_cast<const PointwiseLayer&>(layer), context);
        });
  }
  return true;
}

}  // namespace gf
