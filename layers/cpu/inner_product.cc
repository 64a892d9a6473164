#include "layers/inner_product.h"

#include "layers/cpu/weighted.h"

namespace gf {
namespace {

class InnerProductKernel : public WeightedKernel {
 public:
  InnerProductKernel(const InnerProductLayer& layer, const KernelContext& context)
      : WeightedKernel(layer, context, context.compute, layer.relu(), layer.relu()),
        layer_(layer) {}

 protected:
  void Build(const KernelPlan& plan, const dnnl::primitive_attr& attr) override {
    const DType type = context_.compute;
    const Shape rows{layer_.rows(), layer_.inputs()}, results{layer_.rows(), layer_.outputs()};
    const dnnl::memory::desc source = PlainDesc(rows, type), destination = PlainDesc(results, type),
                             weights = AnyDesc(plan.parameters[0].shape, type);
    dnnl::memory::desc bias;
    if (layer_.bias()) bias = PlainDesc(plan.parameters[1].shape, type);

    using Fwd = dnnl::inner_product_forward;
    const auto kind =
        plan.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    const Fwd::desc fd = layer_.bias() ? Fwd::desc(kind, source, weights, bias, destination)
                                       : Fwd::desc(kind, source, weights, destination);
    const Fwd::primitive_desc fpd(fd, attr, DnnlEngine());
    forward_ = MakeOp<Fwd>(fpd, fpd.src_desc(), fpd.weights_desc(), fpd.dst_desc());
    if (!plan.backward) return;

    dnnl::primitive_attr plain;
    plain.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const Fwd::primitive_desc hint(fd, plain, DnnlEngine());
    using BwdW = dnnl::inner_product_backward_weights;
    const BwdW::desc wd = layer_.bias() ? BwdW::desc(source, weights, bias, destination)
                                        : BwdW::desc(source, weights, destination);
    const BwdW::primitive_desc wpd(wd, plain, DnnlEngine(), hint);
    backward_weights_ =
        MakeOp<BwdW>(wpd, wpd.src_desc(), wpd.diff_weights_desc(), wpd.diff_dst_desc());
    if (!plan.propagate[0]) return;
    using BwdD = dnnl::inner_product_backward_data;
    const BwdD::primitive_desc dpd(BwdD::desc(source, weights, destination), plain, DnnlEngine(),
                                   hint);
    backward_data_ =
        MakeOp<BwdD>(dpd, dpd.diff_src_desc(), dpd.weights_desc(), dpd.diff_dst_desc());
  }

 private:
  const InnerProductLayer& layer_;
};

GF_REGISTER_KERNEL("cpu/InnerProduct", InnerProductLayer, InnerProductKernel);

}  // namespace
}  // namespace gf
