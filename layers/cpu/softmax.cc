#include "layers/softmax.h"

#include "layers/cpu/softmax_spans.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class SoftmaxKernel : public Kernel {
 public:
  SoftmaxKernel(const SoftmaxLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute), functions_(ForType(Softmax(), type_)) {}

  void Setup(KernelSetup* setup) override {
    setup->bottoms[0].layout = setup->tops[0].layout = Layout();
    setup->needs_top[0] = setup->backward;
    setup->in_place = setup->in_place_backward = true;
  }

  void Forward(const KernelArgs& args) override {
    const ClassAxis& view = layer_.view();
    ForSoftmaxSpans(view, [&](int64_t outer, int64_t inner, const SoftmaxSpan& span) {
      const int64_t at = SpanStart(view, outer, inner);
      const void* x = At(args.bottoms[0], at, type_);
      SoftmaxSums sums;
      functions_.sums(span, x, nullptr, &sums);
      functions_.normalize(span, x, sums, At(args.tops[0], at, type_));
    });
  }

  void Backward(const KernelArgs& args) override {
    const ClassAxis& view = layer_.view();
    ForSoftmaxSpans(view, [&](int64_t outer, int64_t inner, const SoftmaxSpan& span) {
      const int64_t at = SpanStart(view, outer, inner);
      functions_.backward(span, At(args.tops[0], at, type_), At(args.top_diffs[0][0], at, type_),
                          At(args.bottom_diffs[0], at, type_));
    });
  }

 private:
  const SoftmaxLayer& layer_;
  DType type_;
  const SoftmaxFunctions& functions_;
};

GF_REGISTER(KernelRegistry, "cpu/Softmax", KernelOf<SoftmaxLayer, SoftmaxKernel>);

}  // namespace
}  // namespace gf
