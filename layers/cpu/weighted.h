#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/cpu/dnnl.h"
#include "layers/kernel.h"

namespace gf {

// The common part of Convolution, Deconvolution and InnerProduct on oneDNN: three primitives with a
// source (the bottom), weights, an optional bias and a destination (the top).
//
// Note [Orders of weights]
// The pools hold weights in the order in which backward writes their gradient, so gradients need no
// copy; weights without a gradient have the order of the forward pass. If a pass needs another
// order, the weights are reordered before each call (in evaluation: once per version of the
// parameters).
//
// Note [FP32 arithmetic on BF16 tensors]
// Convolutions of BF16 tensors may be computed in FP32 on converted copies, with the master
// weights. Stored and exchanged tensors stay BF16. All convolutions are, where a BF16 multiply-add
// is slower than an FP32 one (BF16IsFast); elsewhere single ones for which oneDNN is faster in FP32
// (layers/cpu/convolution.cc).
class WeightedKernel : public Kernel {
 public:
  // Work besides products. If `bias` is false, a layer with a bias adds it itself and computes its
  // gradient.
  struct Extras {
    bool bias = false, relu = false, relu_backward = false;
  };

  // `math`: the type of the arithmetic, which is the compute type or FP32. Build may change it.
  WeightedKernel(const Layer& layer, const KernelContext& context, DType math, const Extras& extras)
      : layer_(layer), context_(context), math_(math), extras_(extras) {}

  void Setup(KernelSetup* setup) override;
  void Forward(const KernelArgs& args) override;
  void Backward(const KernelArgs& args) override;
  bool CanOmitBottomDiff() const override { return true; }
  std::string Describe() const override {
    return DescribePasses(forward_.how, backward_weights_.how, backward_data_.how);
  }

 protected:
  // A tensor in the layout that a primitive requires, and in its layout in memory if that differs.
  struct Operand {
    int argument = 0;  // oneDNN's number of it
    dnnl::memory::desc wanted;
    dnnl::memory::desc given;
    bool differs = false;
    size_t offset = 0;  // of the converted copy in the scratch memory
    dnnl::reorder to_wanted, to_given;
  };
  struct Op {
    dnnl::primitive primitive;
    std::string how;  // oneDNN's name of the implementation
    dnnl::memory::desc scratchpad;
    Operand source, weights, bias, destination;
    size_t scratch_bytes = 0;
  };

  // Creates the primitives with layouts chosen by oneDNN. `attr` describes a fused ReLU.
  virtual void Build(const KernelSetup& setup, const dnnl::primitive_attr& attr) = 0;

  // The attributes of every primitive: the caller supplies scratch memory.
  static dnnl::primitive_attr PlainAttr();
  static dnnl::prop_kind ForwardKind(const KernelSetup& setup);
  // The bias in the type of the arithmetic; if primitives have none an empty descriptor, which
  // oneDNN treats as none.
  dnnl::memory::desc BiasDesc(const KernelSetup& setup) const;

  template <typename Fwd>
  void SetForward(const typename Fwd::primitive_desc& pd) {
    forward_ = MakeOp<Fwd>(pd, {DNNL_ARG_SRC, pd.src_desc()}, {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                           {DNNL_ARG_DST, pd.dst_desc()});
  }
  template <typename Bwd>
  void SetBackwardWeights(const typename Bwd::primitive_desc& pd) {
    backward_weights_ = MakeOp<Bwd>(pd, {DNNL_ARG_SRC, pd.src_desc()},
                                    {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc()},
                                    {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()});
  }
  template <typename Bwd>
  void SetBackwardData(const typename Bwd::primitive_desc& pd) {
    backward_data_ =
        MakeOp<Bwd>(pd, {DNNL_ARG_DIFF_SRC, pd.diff_src_desc()},
                    {DNNL_ARG_WEIGHTS, pd.weights_desc()}, {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()});
  }
  // Exchanges the forward primitive with the one for data, and in all of them the source with the
  // destination: what was the gradient of the source becomes the top.
  void Transpose();

  const Layer& layer_;
  const KernelContext context_;
  DType math_;
  Op forward_, backward_data_, backward_weights_;

 private:
  struct Argument {
    int number;
    dnnl::memory::desc wanted;
  };

  template <typename Primitive>
  static Op MakeOp(const typename Primitive::primitive_desc& pd, const Argument& source,
                   const Argument& weights, const Argument& destination) {
    Op op;
    op.primitive = Primitive(pd);
    op.how = pd.impl_info_str();
    op.scratchpad = pd.scratchpad_desc();
    const auto set = [](Operand* operand, const Argument& argument) {
      operand->argument = argument.number;
      operand->wanted = argument.wanted;
    };
    set(&op.source, source);
    set(&op.weights, weights);
    set(&op.destination, destination);
    return op;
  }
  // Sets the operands' layouts in memory and plans copies for layouts that differ.
  void Adapt(Op* op, const dnnl::memory::desc& source, const dnnl::memory::desc& weights,
             const dnnl::memory::desc& bias, const dnnl::memory::desc& destination);
  // The memory that a primitive reads; converts it first if its layout differs.
  dnnl::memory In(Operand* operand, const void* data, void* scratch);
  // The memory that a primitive writes; Finish then converts it if its layout differs.
  dnnl::memory Out(Operand* operand, void* data, void* scratch);
  void Finish(Operand* operand, void* data, void* scratch);
  dnnl::memory Weights(Op* op, const KernelArgs& args);
  void BackwardWeights(const KernelArgs& args);

  const Extras extras_;
  bool backward_ = false;
  int64_t top_count_ = 0;
  // Evaluation keeps reordered weights between calls, from the first one on.
  std::shared_ptr<void> kept_weights_;
  uint64_t kept_version_ = 0;
};

}  // namespace gf
