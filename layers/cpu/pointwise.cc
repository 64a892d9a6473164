// GELU by our own kernels; other functions that oneDNN has by oneDNN; simple ones, and those with
// constants that oneDNN lacks, by loops.

#include "layers/pointwise.h"

#include <cmath>
#include <memory>

#include "core/bf16_inline.h"
#include "layers/cpu/dnnl_activation.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/gelu_kernels.h"

namespace gf {
namespace {

using dnnl::algorithm;

template <typename T, typename F>
void ForwardLoop(const F& f, const void* bottom, void* top, int64_t begin, int64_t end) {
  const T* const x = static_cast<const T*>(bottom);
  T* const y = static_cast<T*>(top);
  for (int64_t i = begin; i < end; ++i) Store(y + i, f.Value(Load(x + i)));
}

template <typename T, typename F>
void BackwardLoop(const F& f, const void* bottom, const void* top_diff, void* bottom_diff,
                  int64_t begin, int64_t end) {
  const T* const x = static_cast<const T*>(bottom);
  const T* const dy = static_cast<const T*>(top_diff);
  T* const dx = static_cast<T*>(bottom_diff);
  for (int64_t i = begin; i < end; ++i) Store(dx + i, Load(dy + i) * f.Slope(Load(x + i)));
}

class LoopKernel : public Kernel {
 public:
  LoopKernel(const Pointwise& function, DType type) : function_(function), type_(type) {}

  void Setup(KernelSetup* setup) override {
    // The padding of other layouts must stay zero, in gradients as well.
    WithPointwise(function_, [&](const auto& f) {
      if (f.Value(0) != 0 || !std::isfinite(f.Slope(0))) setup->bottoms[0].layout = Layout();
    });
    SetUpActivation(/*from_top=*/false, setup);
    count_ = setup->bottoms[0].storage_count();
  }

  void Forward(const KernelArgs& args) override {
    WithPointwise(function_, [&](const auto& f) {
      ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
        const auto loop = type_ == DType::kBF16 ? &ForwardLoop<uint16_t, std::decay_t<decltype(f)>>
                                                : &ForwardLoop<float, std::decay_t<decltype(f)>>;
        loop(f, args.bottoms[0], args.tops[0], begin, end);
      });
    });
  }

  void Backward(const KernelArgs& args) override {
    WithPointwise(function_, [&](const auto& f) {
      ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
        const auto loop = type_ == DType::kBF16 ? &BackwardLoop<uint16_t, std::decay_t<decltype(f)>>
                                                : &BackwardLoop<float, std::decay_t<decltype(f)>>;
        loop(f, args.bottoms[0], args.top_diffs[0][0], args.bottom_diffs[0], begin, end);
      });
    });
  }

 private:
  const Pointwise function_;
  const DType type_;
  int64_t count_ = 0;
};

class GeluKernel : public Kernel {
 public:
  explicit GeluKernel(DType type) : functions_(ForType(GeluTable(), type)) {}

  void Setup(KernelSetup* setup) override {
    SetUpActivation(/*from_top=*/false, setup);
    count_ = setup->bottoms[0].storage_count();
  }

  void Forward(const KernelArgs& args) override {
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      functions_.forward(args.bottoms[0], args.tops[0], begin, end);
    });
  }

  void Backward(const KernelArgs& args) override {
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      functions_.backward(args.bottoms[0], args.top_diffs[0][0], args.bottom_diffs[0], begin, end);
    });
  }

 private:
  const GeluFunctions& functions_;
  int64_t count_ = 0;
};

std::unique_ptr<Kernel> MakeKernel(const Pointwise& f, DType type) {
  algorithm by_dnnl = algorithm::undef;
  switch (f.kind) {
    case Pointwise::kBnll:
      by_dnnl = algorithm::eltwise_soft_relu;
      break;
    case Pointwise::kElu:
      by_dnnl = algorithm::eltwise_elu;
      break;
    case Pointwise::kGelu:
      return std::make_unique<GeluKernel>(type);
    case Pointwise::kGeluTanh:
      by_dnnl = algorithm::eltwise_gelu_tanh;
      break;
    case Pointwise::kSwish:
      by_dnnl = algorithm::eltwise_swish;
      break;
    case Pointwise::kAbs:
    case Pointwise::kClip:
    case Pointwise::kExp:
    case Pointwise::kHardSwish:
    case Pointwise::kLog:
    case Pointwise::kPower:
      return std::make_unique<LoopKernel>(f, type);
  }
  // Newer versions of oneDNN compute log(1 + exp(alpha * x)) / alpha, older ones have no alpha.
  const float alpha = f.kind == Pointwise::kBnll ? 1 : f.a;
  return std::make_unique<DnnlActivation>(DnnlFunction{by_dnnl, by_dnnl, alpha});
}

const bool registered =
    AddPointwiseKernels("cpu", [](const PointwiseLayer& layer, const KernelContext& context) {
      return MakeKernel(layer.function(), context.compute);
    });

}  // namespace
}  // namespace gf
