// Sigmoid and TanH: oneDNN's elementwise primitives, backward from the top's data.

#include "core/cpu/dnnl.h"
#include "layers/kernel.h"
#include "layers/sigmoid.h"
#include "layers/tanh.h"

namespace gf {
namespace {

using dnnl::eltwise_backward;
using dnnl::eltwise_forward;

template <dnnl::algorithm kForward, dnnl::algorithm kBackward>
class ActivationKernel : public Kernel {
 public:
  ActivationKernel(const Layer& layer, const KernelContext& context) {}

  void Plan(KernelPlan* plan) override {
    const TensorDesc& bottom = plan->bottoms[0];
    plan->tops[0].layout = bottom.layout;
    plan->needs_top[0] = plan->backward;
    plan->in_place = plan->in_place_backward = true;
    // oneDNN keeps the padding of its layouts zero. A plain tensor is one long vector.
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
