#include "layers/cpu/dnnl_activation.h"

#include "layers/activation.h"

namespace gf {

void DnnlActivation::Setup(KernelSetup* setup) {
  const TensorDesc& bottom = setup->bottoms[0];
  SetUpActivation(function_.from_top, setup);
  desc_ =
      bottom.layout.plain() ? PlainDesc(Shape{bottom.shape.count()}, bottom.dtype) : ToDnnl(bottom);
  const auto forward = DnnlEltwiseForward(dnnl::prop_kind::forward_training, function_.forward,
                                          desc_, function_.alpha);
  forward_ = dnnl::eltwise_forward(forward);
  if (setup->backward) {
    backward_ = dnnl::eltwise_backward(
        DnnlEltwiseBackward(function_.backward, desc_, function_.alpha, forward));
  }
}

void DnnlActivation::Forward(const KernelArgs& args) {
  forward_.execute(DnnlStream(), {{DNNL_ARG_SRC, DnnlMemory(desc_, args.bottoms[0])},
                                  {DNNL_ARG_DST, DnnlMemory(desc_, args.tops[0])}});
  DnnlStream().wait();
}

void DnnlActivation::Backward(const KernelArgs& args) {
  const void* const data = function_.from_top ? args.tops[0] : args.bottoms[0];
  backward_.execute(DnnlStream(),
                    {{function_.from_top ? DNNL_ARG_DST : DNNL_ARG_SRC, DnnlMemory(desc_, data)},
                     {DNNL_ARG_DIFF_DST, DnnlMemory(desc_, args.top_diffs[0][0])},
                     {DNNL_ARG_DIFF_SRC, DnnlMemory(desc_, args.bottom_diffs[0])}});
  DnnlStream().wait();
}

}  // namespace gf
