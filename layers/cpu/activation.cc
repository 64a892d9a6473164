// ReLU by our own kernels; Sigmoid and TanH by oneDNN's elementwise primitives, whose backward pass
// reads the top.

#include "layers/activation.h"

#include "core/cpu/dnnl.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/relu_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

using dnnl::eltwise_backward;
using dnnl::eltwise_forward;

class ReluKernel : public Kernel {
 public:
  ReluKernel(const ReluLayer& layer, const KernelContext& context)
      : slope_(layer.negative_slope()), functions_(ForType(Relu(), context.compute)) {}

  // With a negative slope, negative bottoms give positive tops, so the gradient must read the
  // bottom's sign.
  void Plan(KernelPlan* plan) override {
    plan->tops[0].layout = plan->bottoms[0].layout;
    count_ = plan->bottoms[0].storage_count();
    from_top_ = slope_ >= 0;
    plan->needs_top[0] = plan->backward && from_top_;
    plan->needs_bottom[0] = plan->backward && !from_top_;
    plan->in_place = !plan->needs_bottom[0];
    plan->in_place_backward = true;
  }

  void Forward(const KernelArgs& args) override {
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      functions_.forward(args.bottoms[0], args.tops[0], slope_, begin, end);
    });
  }

  void Backward(const KernelArgs& args) override {
    const void* sign = from_top_ ? args.tops[0] : args.bottoms[0];
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      functions_.backward(args.top_diffs[0][0], sign, args.bottom_diffs[0], slope_, begin, end);
    });
  }

 private:
  float slope_;
  const ReluFunctions& functions_;
  int64_t count_ = 0;
  bool from_top_ = true;
};

GF_REGISTER(KernelRegistry, "cpu/ReLU", KernelOf<ReluLayer, ReluKernel>);

template <dnnl::algorithm kForward, dnnl::algorithm kBackward>
class ActivationKernel : public Kernel {
 public:
  ActivationKernel(const Layer& layer, const KernelContext& context) {}

  void Plan(KernelPlan* plan) override {
    const TensorDesc& bottom = plan->bottoms[0];
    plan->tops[0].layout = bottom.layout;
    plan->needs_top[0] = plan->backward;
    plan->in_place = plan->in_place_backward = true;
    // oneDNN keeps the padding of its layouts at zero. A plain tensor is treated as one long
    // vector.
    desc_ = bottom.layout.plain() ? PlainDesc(Shape{bottom.shape.count()}, bottom.dtype)
                                  : ToDnnl(bottom);
    const eltwise_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, kForward, desc_, 0.f, 0.f}, DnnlEngine());
    forward_ = eltwise_forward(forward);
    if (plan->backward) {
      backward_ = eltwise_backward(eltwise_backward::primitive_desc(
          {kBackward, desc_, desc_, 0.f, 0.f}, DnnlEngine(), forward));
    }
  }

  void Forward(const KernelArgs& args) override {
    forward_.execute(DnnlStream(), {{DNNL_ARG_SRC, DnnlMemory(desc_, args.bottoms[0])},
                                    {DNNL_ARG_DST, DnnlMemory(desc_, args.tops[0])}});
    DnnlStream().wait();
  }

  void Backward(const KernelArgs& args) override {
    backward_.execute(DnnlStream(), {{DNNL_ARG_DST, DnnlMemory(desc_, args.tops[0])},
                                     {DNNL_ARG_DIFF_DST, DnnlMemory(desc_, args.top_diffs[0][0])},
                                     {DNNL_ARG_DIFF_SRC, DnnlMemory(desc_, args.bottom_diffs[0])}});
    DnnlStream().wait();
  }

 private:
  dnnl::memory::desc desc_;
  eltwise_forward forward_;
  eltwise_backward backward_;
};

using SigmoidKernel = ActivationKernel<dnnl::algorithm::eltwise_logistic,
                                       dnnl::algorithm::eltwise_logistic_use_dst_for_bwd>;
using TanhKernel =
    ActivationKernel<dnnl::algorithm::eltwise_tanh, dnnl::algorithm::eltwise_tanh_use_dst_for_bwd>;

GF_REGISTER(KernelRegistry, "cpu/Sigmoid", KernelOf<SigmoidLayer, SigmoidKernel>);
GF_REGISTER(KernelRegistry, "cpu/TanH", KernelOf<TanhLayer, TanhKernel>);

}  // namespace
}  // namespace gf
