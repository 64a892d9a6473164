#include "layers/accuracy.h"

#include <vector>

#include "layers/cpu/elementwise.h"
#include "layers/kernel.h"
#include "layers/labels.h"

namespace gf {
namespace {

class AccuracyKernel : public Kernel {
 public:
  AccuracyKernel(const AccuracyLayer& layer, const KernelContext& context) : layer_(layer) {}

  void Setup(KernelSetup* setup) override {
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
    type_ = setup->bottoms[0].dtype;
  }

  void Forward(const KernelArgs& args) override {
    const ClassAxis& view = layer_.view();
    const auto* labels = static_cast<const int64_t*>(args.bottoms[1]);
    std::vector<int64_t> counts(view.classes), rights(view.classes);
    int64_t count = 0, right = 0;
    for (int64_t outer = 0; outer < CountedSamples(args, view.outer); ++outer) {
      for (int64_t inner = 0; inner < view.inner; ++inner) {
        if (layer_.Ignored(labels[outer * view.inner + inner])) continue;
        const int64_t label = CheckedLabel(layer_, view, labels, outer, inner);
        const bool hit = Right(args.bottoms[0], outer, inner, label);
        ++count, ++counts[label];
        right += hit, rights[label] += hit;
      }
    }
    const auto share = [](int64_t part, int64_t whole) {
      return whole == 0 ? 0.f : static_cast<float>(static_cast<double>(part) / whole);
    };
    *static_cast<float*>(args.tops[0]) = share(right, count);
    if (args.tops.size() > 1) {
      auto* per_class = static_cast<float*>(args.tops[1]);
      for (int64_t c = 0; c < view.classes; ++c) per_class[c] = share(rights[c], counts[c]);
    }
  }

 private:
  // Whether fewer than top_k classes rank above the label's class.
  bool Right(const void* scores, int64_t outer, int64_t inner, int64_t label) const {
    const ClassAxis& view = layer_.view();
    const int64_t start = outer * view.classes * view.inner + inner;
    const float own = LoadElement(scores, start + label * view.inner, type_);
    int64_t above = 0;
    for (int64_t c = 0; c < view.classes && above < layer_.top_k(); ++c) {
      const float other = LoadElement(scores, start + c * view.inner, type_);
      above += !(other < own) && (c < label || other != own);
    }
    return above < layer_.top_k();
  }

  const AccuracyLayer& layer_;
  DType type_ = DType::kFP32;
};

GF_REGISTER(KernelRegistry, "cpu/Accuracy", KernelOf<AccuracyLayer, AccuracyKernel>);

}  // namespace
}  // namespace gf
