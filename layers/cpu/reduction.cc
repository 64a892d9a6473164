#include "layers/reduction.h"

#include <algorithm>
#include <cmath>

#include "layers/cpu/elementwise.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class ReductionKernel : public Kernel {
 public:
  ReductionKernel(const ReductionLayer& layer, const KernelContext& context)
      : layer_(layer),
        type_(context.compute),
        absolute_(layer.absolute()),
        squared_(layer.squared()) {}

  void Setup(KernelSetup* setup) override {
    setup->bottoms[0].layout = Layout();
    setup->needs_bottom[0] = setup->backward && layer_.needs_bottom();
    setup->forward_scratch_bytes = layer_.rows() * layer_.parts() * sizeof(double);
    top_type_ = setup->tops[0].dtype;
  }

  void Forward(const KernelArgs& args) override {
    const int64_t inner = layer_.inner(), parts = layer_.parts();
    auto* const sums = static_cast<double*>(args.scratch);
    ParallelFor(layer_.rows() * parts, std::max<int64_t>(1, kElementGrain / inner),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t row = i / parts * inner;
                    const int64_t first = i % parts * ReductionLayer::kPart;
                    sums[i] = Sum(args.bottoms[0], row + first,
                                  row + std::min(inner, first + ReductionLayer::kPart));
                  }
                });
    // The order does not depend on the number of threads.
    ParallelFor(layer_.rows(), kElementGrain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        double sum = 0;
        for (int64_t i = row * parts; i < (row + 1) * parts; ++i) sum += sums[i];
        StoreElement(args.tops[0], row, top_type_, static_cast<float>(layer_.factor() * sum));
      }
    });
  }

  void Backward(const KernelArgs& args) override {
    const float own = layer_.LossWeight(0) * args.loss_scale;
    const auto factor = static_cast<float>(layer_.factor());
    const bool sloped = layer_.needs_bottom();
    const int64_t inner = layer_.inner();
    const void* const dy = args.top_diffs[0].empty() ? nullptr : args.top_diffs[0][0];
    ParallelFor(layer_.rows() * inner, kElementGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float gradient = own;
        if (dy != nullptr) gradient += LoadElement(dy, i / inner, top_type_);
        gradient *= factor;
        if (sloped) gradient *= Slope(LoadElement(args.bottoms[0], i, type_));
        StoreElement(args.bottom_diffs[0], i, type_, gradient);
      }
    });
  }

 private:
  // Over the elements [begin, end).
  double Sum(const void* x, int64_t begin, int64_t end) const {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) {
      const double value = LoadElement(x, i, type_);
      sum += squared_ ? value * value : absolute_ ? std::abs(value) : value;
    }
    return sum;
  }
  // The derivative of the square, or of the absolute value: 0 at 0.
  float Slope(float x) const {
    if (squared_) return 2 * x;
    return static_cast<float>((x > 0) - (x < 0));
  }

  const ReductionLayer& layer_;
  const DType type_;
  const bool absolute_, squared_;
  DType top_type_ = DType::kFP32;
};

GF_REGISTER(KernelRegistry, "cpu/Reduction", KernelOf<ReductionLayer, ReductionKernel>);

}  // namespace
}  // namespace gf
