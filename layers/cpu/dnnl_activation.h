#pragma once

#include "core/cpu/dnnl.h"
#include "layers/kernel.h"

namespace gf {

// One of oneDNN's elementwise functions, for both directions.
struct DnnlFunction {
  dnnl::algorithm forward, backward;
  float alpha = 0;
  bool from_top = false;  // whether the gradient is computed from the top, not from the bottom
};

// y = f(x) by oneDNN. It keeps the padding of its layouts at zero; a plain tensor is one long
// vector to it.
class DnnlActivation : public Kernel {
 public:
  explicit DnnlActivation(const DnnlFunction& function) : function_(function) {}

  void Setup(KernelSetup* setup) override;
  void Forward(const KernelArgs& args) override;
  void Backward(const KernelArgs& args) override;

 private:
  const DnnlFunction function_;
  dnnl::memory::desc desc_;
  dnnl::eltwise_forward forward_;
  dnnl::eltwise_backward backward_;
};

}  // namespace gf
