#pragma once

#include <string>

#include "core/cuda/channels_last.h"
#include "core/estimate/estimate_device.h"
#include "layers/kernel.h"

namespace gf {

// The estimate of a kernel of the device "cuda" (Note [A step on paper]). Agree makes the same
// agreement as Plan of the real kernel, except for scratch memory. ForwardCost and BackwardCost
// record the operations that Forward and Backward of the real kernel enqueue for the same
// arguments.
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

  // The agreement made by Plan.
  const KernelPlan& plan() const { return plan_; }
  const KernelContext& context() const { return context_; }
  // Bytes of a bottom or top.
  int64_t Bottom(size_t i = 0) const { return static_cast<int64_t>(plan_.bottoms[i].bytes()); }
  int64_t Top(size_t i = 0) const { return static_cast<int64_t>(plan_.tops[i].bytes()); }
  int64_t Parameter(size_t i) const { return static_cast<int64_t>(plan_.parameters[i].bytes()); }
  int64_t Saved() const { return static_cast<int64_t>(plan_.saved_bytes); }

  // Records launches that together move `bytes` bytes.
  void Move(OperationKind kind, int64_t bytes, int launches = 1) const;
  // Records one launch that moves `bytes` bytes and computes products of `flops` FLOPs.
  void Multiply(OperationKind kind, int64_t bytes, int64_t flops) const;
  // Records a copy from one memory to another; does nothing if both are the same.
  void Copy(OperationKind kind, const void* from, const void* to, int64_t bytes) const;
  // Records a bias gradient, the sums over the rows of dy ([rows][channels], `bytes` bytes in all).
  // With `relu` it includes the gradient of a ReLU, which reads y and changes dy.
  void BiasGradient(int64_t bytes, bool bias, bool relu) const;

 private:
  const std::string layer_name_;  // empty for layers that the net inserts
  const KernelContext context_;
  KernelPlan plan_;
  bool backward_ = false;
};

}  // namespace gf
