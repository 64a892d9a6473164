// Layers that only move numbers: Flatten, Reshape, Split, Silence, and the layers that the net
// inserts.

#include "layers/copies.h"

#include "layers/cuda/eltwise_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

class ReshapeKernel : public RepeatingKernel {
 public:
  ReshapeKernel(const Layer&, const KernelContext& context) : context_(context) {}

  void Plan(KernelPlan* plan) override {
    plan->bottoms[0].layout = plan->tops[0].layout = Layout();
    plan->in_place = plan->in_place_backward = true;
    bytes_ = plan->bottoms[0].bytes();
  }
  void Forward(const KernelArgs& args) override {
    CopyOnDevice(context_, args.bottoms[0], args.tops[0], bytes_);
  }
  void Backward(const KernelArgs& args) override {
    CopyOnDevice(context_, args.top_diffs[0][0], args.bottom_diffs[0], bytes_);
  }

 private:
  const KernelContext context_;
  size_t bytes_ = 0;
};

class SplitKernel : public RepeatingKernel {
 public:
  SplitKernel(const SplitLayer&, const KernelContext& context) : context_(context) {}

  void Plan(KernelPlan* plan) override {
    for (TensorDesc& top : plan->tops) top.layout = plan->bottoms[0].layout;
    count_ = plan->bottoms[0].storage_count();
    bytes_ = plan->bottoms[0].bytes();
    plan->in_place = plan->in_place_backward = true;
  }

  void Forward(const KernelArgs& args) override {
    for (void* top : args.tops) CopyOnDevice(context_, args.bottoms[0], top, bytes_);
  }

  // Sums the gradients of the tops; an unused top has no gradient.
  void Backward(const KernelArgs& args) override {
    std::vector<const void*> diffs;
    for (const auto& top : args.top_diffs) diffs.insert(diffs.end(), top.begin(), top.end());
    if (diffs.empty()) {
      return context_.device->Zero(args.bottom_diffs[0], bytes_, context_.device->compute_stream());
    }
    AddUp(context_.compute, diffs.data(), static_cast<int>(diffs.size()), args.bottom_diffs[0],
          count_, StreamOf(context_));
  }

 private:
  const KernelContext context_;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

class SilenceKernel : public RepeatingKernel {
 public:
  SilenceKernel(const SilenceLayer&, const KernelContext&) {}
  void Plan(KernelPlan*) override {}
  void Forward(const KernelArgs&) override {}
};

// tops[0] = bottoms[0] in another layout. The net sets both layouts.
class ReorderKernel : public RepeatingKernel {
 public:
  ReorderKernel(const Layer&, const KernelContext& context) : context_(context) {}

  void Plan(KernelPlan* plan) override {
    from_ = plan->bottoms[0];
    to_ = plan->tops[0];
  }
  void Forward(const KernelArgs& args) override { Run(from_, args.bottoms[0], to_, args.tops[0]); }
  void Backward(const KernelArgs& args) override {
    if (args.bottom_diffs[0] == nullptr) return;
    Run(to_, args.top_diffs[0][0], from_, args.bottom_diffs[0]);
  }

 private:
  void Run(const TensorDesc& from, const void* source, const TensorDesc& to, void* target) const {
    context_.device->Convert({from, const_cast<void*>(source), nullptr}, {to, target, nullptr},
                             context_.device->compute_stream());
  }

  const KernelContext context_;
  TensorDesc from_, to_;
};

// tops[0] = sum of the bottoms, all in one layout. tops[0] may be bottoms[0].
class GradientSumKernel : public RepeatingKernel {
 public:
  GradientSumKernel(const Layer&, const KernelContext& context) : context_(context) {}

  void Plan(KernelPlan* plan) override {
    count_ = plan->bottoms[0].storage_count();
    plan->tops[0].layout = plan->bottoms[0].layout;
  }
  void Forward(const KernelArgs& args) override {
    AddUp(context_.compute, args.bottoms.data(), static_cast<int>(args.bottoms.size()),
          args.tops[0], count_, StreamOf(context_));
  }

 private:
  const KernelContext context_;
  int64_t count_ = 0;
};

GF_REGISTER(KernelRegistry, "cuda/Flatten", KernelOf<FlattenLayer, ReshapeKernel>);
GF_REGISTER(KernelRegistry, "cuda/Reshape", KernelOf<ReshapeLayer, ReshapeKernel>);
GF_REGISTER(KernelRegistry, "cuda/Split", KernelOf<SplitLayer, SplitKernel>);
GF_REGISTER(KernelRegistry, "cuda/Silence", KernelOf<SilenceLayer, SilenceKernel>);
GF_REGISTER(KernelRegistry, "cuda/_Reorder", KernelOf<Layer, ReorderKernel>);
GF_REGISTER(KernelRegistry, "cuda/_GradientSum", KernelOf<Layer, GradientSumKernel>);

}  // namespace
}  // namespace gf
