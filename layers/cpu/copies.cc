// Layers that only move numbers: Flatten, Reshape, Split, Silence, and the layers that the net
// inserts.

#include "layers/copies.h"

#include <cstring>
#include <vector>

#include "core/cpu/dnnl.h"
#include "core/parallel.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/eltwise_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class ReshapeKernel : public Kernel {
 public:
  ReshapeKernel(const Layer& layer, const KernelContext& context) {}

  void Plan(KernelPlan* plan) override {
    plan->bottoms[0].layout = plan->tops[0].layout = Layout();
    plan->in_place = plan->in_place_backward = true;
    bytes_ = plan->bottoms[0].bytes();
  }
  void Forward(const KernelArgs& args) override {
    CopyStorage(args.bottoms[0], args.tops[0], bytes_);
  }
  void Backward(const KernelArgs& args) override {
    CopyStorage(args.top_diffs[0][0], args.bottom_diffs[0], bytes_);
  }

 private:
  size_t bytes_ = 0;
};

class SplitKernel : public Kernel {
 public:
  SplitKernel(const SplitLayer& layer, const KernelContext& context)
      : sum_(ForType(Eltwise(), context.compute).sum) {}

  void Plan(KernelPlan* plan) override {
    for (TensorDesc& top : plan->tops) top.layout = plan->bottoms[0].layout;
    count_ = plan->bottoms[0].storage_count();
    bytes_ = plan->bottoms[0].bytes();
    plan->in_place = plan->in_place_backward = true;
  }

  void Forward(const KernelArgs& args) override {
    for (void* top : args.tops) CopyStorage(args.bottoms[0], top, bytes_);
  }

  // Sums the gradients of the tops; an unused top has no gradient.
  void Backward(const KernelArgs& args) override {
    std::vector<const void*> diffs;
    for (const auto& top : args.top_diffs) diffs.insert(diffs.end(), top.begin(), top.end());
    if (diffs.empty()) {
      std::memset(args.bottom_diffs[0], 0, bytes_);
      return;
    }
    const std::vector<float> ones(diffs.size(), 1);
    EltwiseCall call;
    call.bottoms = diffs.data();
    call.count = static_cast<int>(diffs.size());
    call.coefficients = ones.data();
    call.top = args.bottom_diffs[0];
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) { sum_(call, begin, end); });
  }

 private:
  EltwiseFunction sum_;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

class SilenceKernel : public Kernel {
 public:
  SilenceKernel(const SilenceLayer& layer, const KernelContext& context) {}
  void Plan(KernelPlan* plan) override {}
  void Forward(const KernelArgs& args) override {}
};

// tops[0] = bottoms[0] in another layout. The net sets both layouts.
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

// tops[0] = sum of the bottoms, all in one layout. tops[0] may be bottoms[0].
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

GF_REGISTER(KernelRegistry, "cpu/Flatten", KernelOf<FlattenLayer, ReshapeKernel>);
GF_REGISTER(KernelRegistry, "cpu/Reshape", KernelOf<ReshapeLayer, ReshapeKernel>);
GF_REGISTER(KernelRegistry, "cpu/Split", KernelOf<SplitLayer, SplitKernel>);
GF_REGISTER(KernelRegistry, "cpu/Silence", KernelOf<SilenceLayer, SilenceKernel>);
GF_REGISTER(KernelRegistry, "cpu/_Reorder", KernelOf<Layer, ReorderKernel>);
GF_REGISTER(KernelRegistry, "cpu/_GradientSum", KernelOf<Layer, GradientSumKernel>);

}  // namespace
}  // namespace gf
