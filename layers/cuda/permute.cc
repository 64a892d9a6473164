#include "layers/permute.h"

#include <algorithm>

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/permute_kernels.h"

namespace gf {
namespace {

PermuteView ViewOf(const AxisOrder& permutation) {
  const std::vector<int64_t> dims = ResultDims(permutation), strides = SourceStrides(permutation);
  if (dims.empty()) return {1, {1}, {1}};
  PermuteView view;
  view.axes = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims);
  std::copy(strides.begin(), strides.end(), view.strides);
  return view;
}

class PermuteKernel : public RepeatingKernel {
 public:
  PermuteKernel(const PermutingLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    TensorDesc& bottom = setup->bottoms[0];
    if (!layer_.TakesChannelsLast()) bottom.layout = Layout();
    setup->tops[0].layout = bottom.layout;
    const AxisOrder view = layer_.View(bottom.shape, !bottom.layout.plain());
    forward_ = ViewOf(view);
    backward_ = ViewOf(Inverse(view));
    for (const PermuteView* v : {&forward_, &backward_}) {
      CheckRowSize(layer_, bottom.shape.count() / v->dims[0]);
    }
  }

  void Forward(const KernelArgs& args) override {
    Permute(forward_, SizeOf(context_.compute), args.bottoms[0], args.tops[0], StreamOf(context_));
  }
  void Backward(const KernelArgs& args) override {
    Permute(backward_, SizeOf(context_.compute), args.top_diffs[0][0], args.bottom_diffs[0],
            StreamOf(context_));
  }

 private:
  const PermutingLayer& layer_;
  const KernelContext context_;
  PermuteView forward_, backward_;
};

GF_REGISTER(KernelRegistry, "cuda/Permute", KernelOf<PermutingLayer, PermuteKernel>);
GF_REGISTER(KernelRegistry, "cuda/ShuffleChannel", KernelOf<PermutingLayer, PermuteKernel>);

}  // namespace
}  // namespace gf
