#include "layers/inner_product.h"

#include <memory>

#include "layers/cpu/thin_inner_product.h"
#include "layers/cpu/weighted.h"

namespace gf {
namespace {

class DnnlInnerProduct : public WeightedKernel {
 public:
  DnnlInnerProduct(const InnerProductLayer& layer, const KernelContext& context)
      : WeightedKernel(layer, context, context.compute, layer.relu(), layer.relu()),
        layer_(layer) {}

 protected:
  void Build(const KernelPlan& plan, const dnnl::primitive_attr& attr) override {
    const DType type = context_.compute;
    const Shape rows{layer_.rows(), layer_.inputs()}, results{layer_.rows(), layer_.outputs()};
    const dnnl::memory::desc source = PlainDesc(rows, type), destination = PlainDesc(results, type),
                             weights = AnyDesc(plan.parameters[0].shape, type);
    const dnnl::memory::desc bias = BiasDesc(plan);

    using Fwd = dnnl::inner_product_forward;
    const Fwd::desc forward(ForwardKind(plan), source, weights, bias, destination);
    SetForward<Fwd>(forward, attr);
    if (!plan.backward) return;

    const Fwd::primitive_desc hint = Hint<Fwd>(forward);
    using BwdW = dnnl::inner_product_backward_weights;
    SetBackwardWeights<BwdW>(
        {{source, weights, bias, destination}, PlainAttr(), DnnlEngine(), hint});
    if (!plan.propagate[0]) return;
    using BwdD = dnnl::inner_product_backward_data;
    SetBackwardData<BwdD>({{source, weights, destination}, PlainAttr(), DnnlEngine(), hint});
  }

 private:
  const InnerProductLayer& layer_;
};

// Chooses an implementation once shapes and layouts are known.
class InnerProductKernel : public Kernel {
 public:
  InnerProductKernel(const InnerProductLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Plan(KernelPlan* plan) override {
    if (ThinInnerProductPays(layer_, *plan)) {
      kernel_ = NewThinInnerProduct(layer_, context_);
    } else {
      kernel_ = std::make_unique<DnnlInnerProduct>(layer_, context_);
    }
    kernel_->Plan(plan);
  }
  void Forward(const KernelArgs& args) override { kernel_->Forward(args); }
  void Backward(const KernelArgs& args) override { kernel_->Backward(args); }
  std::string Describe() const override { return kernel_->Describe(); }

 private:
  const InnerProductLayer& layer_;
  const KernelContext context_;
  std::unique_ptr<Kernel> kernel_;
};

GF_REGISTER(KernelRegistry, "cpu/InnerProduct", KernelOf<InnerProductLayer, InnerProductKernel>);

}  // namespace
}  // namespace gf
