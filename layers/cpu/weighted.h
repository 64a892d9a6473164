#pragma once

#include <cstdint>
#include <memory>

#include "core/cpu/dnnl.h"
#include "layers/kernel.h"

namespace gf {

// What Convolution and InnerProduct share on oneDNN: three primitives over a source, weights,
// an optional bias and a destination, each of which may want the weights in another order than
// the one in which they lie in the pools (that in which backward writes their gradient, so that
// gradients need no copy).
class WeightedKernel : public Kernel {
 public:
  WeightedKernel(const Layer& layer, const KernelContext& context, bool relu, bool relu_backward)
      : layer_(layer), context_(context), relu_(relu), relu_backward_(relu_backward) {}

  void Plan(KernelPlan* plan) final;
  void Forward(const KernelArgs& args) final;
  void Backward(const KernelArgs& args) final;

 protected:
  // One primitive and the orders it wants.
  struct Op {
    dnnl::primitive primitive;
    dnnl::memory::desc source, weights, destination, scratchpad;
    dnnl::reorder reorder;  // pool order -> `weights`, where they differ
    bool reordered = false;
  };

  // Creates the primitives with oneDNN's choice of layouts. `attr` has what a fused ReLU needs.
  virtual void Build(const KernelPlan& plan, const dnnl::primitive_attr& attr) = 0;

  // Fills an Op from a primitive descriptor.
  template <typename Primitive, typename Desc>
  static Op MakeOp(const Desc& pd, const dnnl::memory::desc& source,
                   const dnnl::memory::desc& weights, const dnnl::memory::desc& destination) {
    return {Primitive(pd), source, weights, destination, pd.scratchpad_desc(), {}, false};
  }

  const Layer& layer_;
  KernelContext context_;
  Op forward_, backward_data_, backward_weights_;

 private:
  const void* Weights(Op* op, const KernelArgs& args, void* scratch);

  bool relu_, relu_backward_;
  bool backward_ = false;
  dnnl::memory::desc pool_weights_, bias_;
  int64_t top_count_ = 0;
  size_t forward_scratchpad_ = 0, backward_scratchpad_ = 0;
  // Evaluation keeps the reordered weights from call to call.
  std::shared_ptr<void> kept_weights_;
  uint64_t kept_version_ = 0;
};

}  // namespace gf
