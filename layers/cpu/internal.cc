#include "core/cpu/dnnl.h"
#include "core/parallel.h"
#include "layers/cpu/sum_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// tops[0] = bottoms[0] in another layout; the net sets both layouts.
class ReorderKernel : public Kernel {
 public:
  ReorderKernel(const Layer&, const KernelContext&) {}

  void Plan(KernelPlan* plan) override {
    from_ = ToDnnl(plan->bottoms[0]);
    to_ = ToDnnl(plan->tops[0]);
    forward_ = Make(from_, to_);
    if (plan->backward) backward_ = Make(to_, from_);
  }

  void Forward(const KernelArgs& args) override {
    Run(&forward_, from_, args.bottoms[0], to_, args.tops[0]);
  }

  void Backward(const KernelArgs& args) override {
    if (args.bottom_diffs[0] == nullptr) return;
    Run(&backward_, to_, args.top_diffs[0][0], from_, args.bottom_diffs[0]);
  }

 private:
  static dnnl::reorder Make(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
    return dnnl::reorder(dnnl::reorder::primitive_desc(DnnlEngine(), from, DnnlEngine(), to));
  }

  static void Run(dnnl::reorder* reorder, const dnnl::memory::desc& from, const void* source,
                  const dnnl::memory::desc& to, void* target) {
    dnnl::memory a = DnnlMemory(from, source), b = DnnlMemory(to, target);
    reorder->execute(DnnlStream(), a, b);
    DnnlStream().wait();
  }

  dnnl::memory::desc from_, to_;
  dnnl::reorder forward_, backward_;
};

// tops[0] = sum of bottoms, which all have one layout; tops[0] may be bottoms[0].
class GradientSumKernel : public Kernel {
 public:
  GradientSumKernel(const Layer&, const KernelContext& context) : type_(context.compute) {}

  void Plan(KernelPlan* plan) override {
    count_ = plan->bottoms[0].storage_count();
    plan->tops[0].layout = plan->bottoms[0].layout;
  }

  void Forward(const KernelArgs& args) override {
    const size_t n = args.bottoms.size();
    ParallelFor(count_, 1024, [&](int64_t begin, int64_t end) {
      for (size_t i = 1; i < n; ++i) {
        const void* first = i == 1 ? args.bottoms[0] : args.tops[0];
        if (type_ == DType::kFP32) {
          SumTable().fp32(static_cast<const float*>(first) + begin,
                          static_cast<const float*>(args.bottoms[i]) + begin,
                          static_cast<float*>(args.tops[0]) + begin, end - begin);
        } else {
          SumTable().bf16(static_cast<const uint16_t*>(first) + begin,
                          static_cast<const uint16_t*>(args.bottoms[i]) + begin,
                          static_cast<uint16_t*>(args.tops[0]) + begin, end - begin);
        }
      }
    });
  }

 private:
  DType type_;
  int64_t count_ = 0;
};

GF_REGISTER(KernelRegistry, "cpu/_Reorder", KernelOf<Layer, ReorderKernel>);
GF_REGISTER(KernelRegistry, "cpu/_GradientSum", KernelOf<Layer, GradientSumKernel>);

}  // namespace
}  // namespace gf
