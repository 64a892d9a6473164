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
      : slope_(layer.negative_slope()),
        from_top_(layer.gradient_from_top()),
        functions_(ForType(Relu(), context.compute)) {}

  void Setup(KernelSetup* setup) override {
    SetUpActivation(from_top_, setup);
    count_ = setup->bottoms[0].storage_count();
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
  const float slope_;
  const bool from_top_;
  const ReluFunctions& functions_;
  int64_t count_ = 0;
};

GF_REGISTER(KernelRegistry, "cpu/ReLU", KernelOf<ReluLayer, ReluKernel>);

template <dnnl::algorithm kForward, dnnl::algorithm kBackward>
class ActivationKernel : public Kernel {
 public:
  ActivationKernel(const Layer& layer, const KernelContext& context) {}

  void Setup(KernelSetup* setup) override {
    const TensorDesc& bottom = setup->bottoms[0];
    SetUpActivation(/*from_top=*/true, setup);
    // oneDNN keeps the padding of its layouts at zero. A plain tensor is treated as one long
    // vector.
    desc_ = bottom.layout.plain() ? PlainDesc(Shape{bottom.shape.count()}, bottom.dtype)
                                  : ToDnnl(bottom);
    const auto forward = DnnlEltwiseForward(dnnl::prop_kind::forward_training, kForward, desc_);
    forward_ = eltwise_forward(forward);
    if (setup->backward) {
      backward_ = eltwise_backward(DnnlEltwiseBackward(kBackward, desc_, forward));
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
