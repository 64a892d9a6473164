#pragma once

#include <string>

#include "core/cuda/channels_last.h"
#include "core/estimate/estimate_device.h"
#include "layers/kernel.h"

namespace gf {

// A kernel of the device "cuda" on paper (Note [A step on paper]): Agree says what Plan of the real
// one says, less the scratch memory; ForwardCost and BackwardCost write down what its Forward and
// Backward enqueue for the same arguments.
class EstimateKernel : public Kernel {
 public:
  void Plan(KernelPlan* plan) final {
    Agree(plan);
    plan_ = *plan;
  }
  void Forward(const KernelArgs& args) final {
    backward_ = false;
    ForwardCost(args);
  }
  void Backward(const KernelArgs& args) final {
    backward_ = true;
    BackwardCost(args);
  }
  void Recompute(const KernelArgs& args) final {
    backward_ = true;
    RecomputeCost();
  }

 protected:
  EstimateKernel(const Layer& layer, const KernelContext& context);

  virtual void Agree(KernelPlan* plan) = 0;
  virtual void ForwardCost(const KernelArgs& args) = 0;
  virtual void BackwardCost(const KernelArgs& args) {}
  virtual void RecomputeCost() {}

  // What Plan agreed to.
  const KernelPlan& plan() const { return plan_; }
  const KernelContext& context() const { return context_; }
  // Bytes of tensors.
  int64_t Bottom(size_t i = 0) const { return static_cast<int64_t>(plan_.bottoms[i].bytes()); }
  int64_t Top(size_t i = 0) const { return static_cast<int64_t>(plan_.tops[i].bytes()); }
  int64_t Parameter(size_t i) const { return static_cast<int64_t>(plan_.parameters[i].bytes()); }
  int64_t Saved() const { return static_cast<int64_t>(plan_.saved_bytes); }

  // Writes down launches that move so many bytes.
  void Move(OperationKind kind, int64_t bytes, int launches = 1) const;
  // The same of one launch that multiplies, too.
  void Multiply(OperationKind kind, int64_t bytes, int64_t flops) const;
  // A copy of memory to other memory; nothing to do if both are the same.
  void Copy(OperationKind kind, const void* from, const void* to, int64_t bytes) const;
  // The sums over the rows of dy, [rows][channels] of so many bytes, that are a bias's gradient,
  // and with `relu` the gradient of a ReLU, which reads y and changes dy.
  void BiasGradient(int64_t bytes, bool bias, bool relu) const;

 private:
  const std::string layer_name_;  // empty for layers that the net puts in
  const KernelContext context_;
  KernelPlan plan_;
  bool backward_ = false;
};

}  // namespace gf
