#include "layers/permute.h"

#include "core/cpu/dnnl.h"
#include "layers/cpu/elementwise.h"
#include "layers/kernel.h"

namespace gf {
namespace {

using dnnl::memory;

// A permutation as oneDNN's conversion from strided to plain memory.
class Conversion {
 public:
  void Setup(const AxisOrder& permutation, DType type) {
    memory::dims dims = ResultDims(permutation), from = SourceStrides(permutation);
    if (dims.empty()) dims = from = {1};
    memory::dims to(dims.size(), 1);
    for (int i = static_cast<int>(dims.size()) - 2; i >= 0; --i) to[i] = to[i + 1] * dims[i + 1];
    from_ = {dims, ToDnnl(type), from};
    to_ = {dims, ToDnnl(type), to};
    reorder_ = dnnl::reorder(dnnl::reorder::primitive_desc(DnnlEngine(), from_, DnnlEngine(), to_));
  }

  void Run(const void* source, void* target) {
    memory from = DnnlMemory(from_, source), to = DnnlMemory(to_, target);
    reorder_.execute(DnnlStream(), from, to);
    DnnlStream().wait();
  }

 private:
  memory::desc from_, to_;
  dnnl::reorder reorder_;
};

class PermuteKernel : public Kernel {
 public:
  PermuteKernel(const PermutingLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute) {}

  void Setup(KernelSetup* setup) override {
    TensorDesc& bottom = setup->bottoms[0];
    const bool channels_last = layer_.TakesChannelsLast() && IsChannelsLast(bottom);
    if (!channels_last) bottom.layout = Layout();
    setup->tops[0].layout = bottom.layout;
    const AxisOrder view = layer_.View(bottom.shape, channels_last);
    forward_.Setup(view, type_);
    if (setup->backward) backward_.Setup(Inverse(view), type_);
  }

  void Forward(const KernelArgs& args) override { forward_.Run(args.bottoms[0], args.tops[0]); }
  void Backward(const KernelArgs& args) override {
    backward_.Run(args.top_diffs[0][0], args.bottom_diffs[0]);
  }

 private:
  static bool IsChannelsLast(const TensorDesc& desc) {
    return desc.shape.rank() == 4 && !desc.layout.plain() &&
           desc.layout ==
               FromDnnl({desc.shape.dims(), ToDnnl(desc.dtype), memory::format_tag::nhwc});
  }

  const PermutingLayer& layer_;
  const DType type_;
  Conversion forward_, backward_;
};

GF_REGISTER(KernelRegistry, "cpu/Permute", KernelOf<PermutingLayer, PermuteKernel>);
GF_REGISTER(KernelRegistry, "cpu/ShuffleChannel", KernelOf<PermutingLayer, PermuteKernel>);

}  // namespace
}  // namespace gf
