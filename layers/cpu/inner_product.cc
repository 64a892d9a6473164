#include "layers/inner_product.h"

#include <memory>

#include "layers/cpu/chosen_kernel.h"
#include "layers/cpu/thin_inner_product.h"
#include "layers/cpu/weighted.h"

namespace gf {
namespace {

class DnnlInnerProduct : public WeightedKernel {
 public:
  DnnlInnerProduct(const InnerProductLayer& layer, const KernelContext& context)
      : WeightedKernel(layer, context, context.compute, {layer.bias(), layer.relu(), layer.relu()}),
        layer_(layer) {}

 protected:
  void Build(const KernelSetup& setup, const dnnl::primitive_attr& attr) override {
    const DType type = context_.compute;
    const Shape rows{layer_.rows(), layer_.inputs()}, results{layer_.rows(), layer_.outputs()};
    const dnnl::memory::desc source = PlainDesc(rows, type), destination = PlainDesc(results, type),
                             weights = AnyDesc(setup.parameters[0].shape, type);
    const dnnl::memory::desc bias = BiasDesc(setup);

    using Fwd = dnnl::inner_product_forward;
    const auto forward_pd = [&](const dnnl::primitive_attr& attributes) {
      return DnnlForward<Fwd>(attributes, ForwardKind(setup), source, weights, bias, destination);
    };
    SetForward<Fwd>(forward_pd(attr));
    if (!setup.backward) return;

    // Backward primitives do not support the fused ReLU.
    const Fwd::primitive_desc hint = forward_pd(PlainAttr());
    using BwdW = dnnl::inner_product_backward_weights;
    SetBackwardWeights<BwdW>(
        DnnlBackward<BwdW>(PlainAttr(), hint, source, weights, bias, destination));
    if (!setup.propagate[0]) return;
    using BwdD = dnnl::inner_product_backward_data;
    SetBackwardData<BwdD>(DnnlBackward<BwdD>(PlainAttr(), hint, source, weights, destination));
  }

 private:
  const InnerProductLayer& layer_;
};

class InnerProductKernel : public ChosenKernel {
 public:
  InnerProductKernel(const InnerProductLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

 protected:
  std::unique_ptr<Kernel> Choose(const KernelSetup& setup) override {
    if (ThinInnerProductPays(layer_, setup)) return NewThinInnerProduct(layer_, context_);
    return std::make_unique<DnnlInnerProduct>(layer_, context_);
  }

 private:
  const InnerProductLayer& layer_;
  const KernelContext context_;
};

GF_REGISTER(KernelRegistry, "cpu/InnerProduct", KernelOf<InnerProductLayer, InnerProductKernel>);

}  // namespace
}  // namespace gf
