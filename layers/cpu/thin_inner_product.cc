#include "layers/cpu/thin_inner_product.h"

#include <cstdint>
#include <type_traits>

#include "core/bf16_inline.h"
#include "core/parallel.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/thin_product_kernels.h"

namespace gf {
namespace {

constexpr int64_t kMostRows = 16;
// Smaller matrices stay in the caches.
constexpr int64_t kLeastWeights = int64_t{1} << 20;
// Rows and columns of W per unit of work.
constexpr int64_t kOutputGrain = 48, kInputGrain = 512;

template <typename T>
class ThinInnerProduct : public Kernel {
 public:
  ThinInnerProduct(const InnerProductLayer& layer, DType type)
      : layer_(layer),
        type_(type),
        images_(layer.rows()),
        inputs_(layer.inputs()),
        outputs_(layer.outputs()),
        shape_{(images_ + kThinGroup - 1) / kThinGroup * kThinGroup, inputs_, ThinStride(inputs_)} {
  }

  bool CanOmitBottomDiff() const override { return true; }
  std::string Describe() const override { return "own loops for few images"; }

  void Setup(KernelSetup* setup) override {
    setup->bottoms[0].layout = setup->tops[0].layout = Layout();
    const size_t x = shape_.rows * shape_.stride * sizeof(float),
                 y = shape_.rows * outputs_ * sizeof(float);
    setup->forward_scratch_bytes = x + y;
    setup->backward_scratch_bytes = x + y;
    setup->needs_bottom[0] = setup->trains;
    setup->skips_parameter_diffs = setup->backward && !setup->trains;
    setup->needs_top[0] = layer_.relu();
  }

  void Forward(const KernelArgs& args) override {
    float* const x = static_cast<float*>(args.scratch);
    float* const y = x + shape_.rows * shape_.stride;
    Widen(static_cast<const T*>(args.bottoms[0]), x);
    const T* const w = static_cast<const T*>(args.parameters[0]);
    const T* const bias =
        args.parameters.size() > 1 ? static_cast<const T*>(args.parameters[1]) : nullptr;
    T* const top = static_cast<T*>(args.tops[0]);
    ParallelFor(outputs_, kOutputGrain, [&](int64_t begin, int64_t end) {
      functions().forward(shape_, x, w, y, begin, end);
      for (int64_t m = 0; m < images_; ++m) {
        for (int64_t n = begin; n < end; ++n) {
          const float sum = y[n * shape_.rows + m] + (bias != nullptr ? Load(bias + n) : 0.f);
          Store(top + m * outputs_ + n, layer_.relu() && sum < 0 ? 0.f : sum);
        }
      }
    });
  }

  void Backward(const KernelArgs& args) override {
    float* const x = static_cast<float*>(args.scratch);
    float* const dy = x + shape_.rows * shape_.stride;
    T* const top_diff = static_cast<T*>(args.top_diffs[0][0]);
    if (layer_.relu()) {
      MaskByRelu(type_, args.tops[0], top_diff, images_ * outputs_);
    }
    T* const dw = static_cast<T*>(args.parameter_diffs[0]);
    if (dw != nullptr) Widen(static_cast<const T*>(args.bottoms[0]), x);
    T* const dbias =
        args.parameter_diffs.size() > 1 ? static_cast<T*>(args.parameter_diffs[1]) : nullptr;
    ParallelFor(outputs_, kOutputGrain, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        float sum = 0;
        for (int64_t m = 0; m < shape_.rows; ++m) {
          const float value = m < images_ ? Load(top_diff + m * outputs_ + n) : 0.f;
          dy[n * shape_.rows + m] = value;
          sum += value;
        }
        if (dbias != nullptr) Store(dbias + n, sum);
      }
      if (dw != nullptr) functions().backward_weights(shape_, x, dy, dw, begin, end);
    });
    if (args.bottom_diffs[0] == nullptr) return;
    const T* const w = static_cast<const T*>(args.parameters[0]);
    T* const bottom_diff = static_cast<T*>(args.bottom_diffs[0]);
    float* const dx = x;  // read for the last time above
    ParallelFor(inputs_, kInputGrain, [&](int64_t begin, int64_t end) {
      functions().backward_data(shape_, dy, w, dx, outputs_, begin, end);
      for (int64_t m = 0; m < images_; ++m) {
        for (int64_t k = begin; k < end; ++k) {
          Store(bottom_diff + m * inputs_ + k, dx[m * shape_.stride + k]);
        }
      }
    });
  }

 private:
  static const ThinFunctions<T>& functions() {
    if constexpr (std::is_same_v<T, float>) {
      return Thin().fp32;
    } else {
      return Thin().bf16;
    }
  }

  // Converts the images to FP32 and fills missing rows with zeros.
  void Widen(const T* from, float* x) const {
    ParallelFor(shape_.rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t m = begin; m < end; ++m) {
        for (int64_t k = 0; k < inputs_; ++k) {
          x[m * shape_.stride + k] = m < images_ ? Load(from + m * inputs_ + k) : 0.f;
        }
      }
    });
  }

  const InnerProductLayer& layer_;
  const DType type_;  // of T
  const int64_t images_, inputs_, outputs_;
  const ThinShape shape_;
};

}  // namespace

bool ThinInnerProductPays(const InnerProductLayer& layer, const KernelSetup& setup) {
  const bool plain = !setup.parameters_fixed || setup.parameters[0].layout.plain();
  return plain && layer.rows() <= kMostRows && layer.inputs() % 32 == 0 &&
         layer.inputs() * layer.outputs() >= kLeastWeights && BestIsa() != Isa::kBaseline;
}

std::unique_ptr<Kernel> NewThinInnerProduct(const InnerProductLayer& layer,
                                            const KernelContext& context) {
  const DType type = context.compute;
  if (type == DType::kFP32) return std::make_unique<ThinInnerProduct<float>>(layer, type);
  return std::make_unique<ThinInnerProduct<uint16_t>>(layer, type);
}

}  // namespace gf
