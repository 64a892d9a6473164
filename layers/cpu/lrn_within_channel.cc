#include "layers/cpu/lrn_within_channel.h"

#include <vector>

#include "layers/cpu/elementwise.h"
#include "layers/cpu/lrn_kernels.h"

namespace gf {
namespace {

class LrnWithinChannel : public Kernel {
 public:
  LrnWithinChannel(const LrnLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute), functions_(ForType(Lrn(), type_)) {}

  void Plan(KernelPlan* plan) override {
    plan->bottoms[0].layout = plan->tops[0].layout = Layout();
    const Shape& shape = plan->bottoms[0].shape;
    planes_ = shape.count(0, 2);
    window_ = {shape[2], shape[3], layer_.size(), layer_.alpha(), layer_.beta()};
    saved_ = plan->backward;
    if (saved_) plan->saved_bytes = shape.count() * sizeof(float);  // scale
    plan->needs_bottom[0] = plan->backward;
    plan->in_place = !plan->backward;
    plan->in_place_backward = true;
  }

  void Forward(const KernelArgs& args) override {
    const int64_t plane = window_.height * window_.width;
    ParallelFor(planes_, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> scratch(5 * plane);
      for (int64_t i = begin; i < end; ++i) {
        float* scale =
            saved_ ? static_cast<float*>(args.saved) + i * plane : scratch.data() + 4 * plane;
        functions_.forward(window_, At(args.bottoms[0], i * plane, type_),
                           At(args.tops[0], i * plane, type_), scale, scratch.data());
      }
    });
  }

  void Backward(const KernelArgs& args) override {
    const int64_t plane = window_.height * window_.width;
    ParallelFor(planes_, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> scratch(4 * plane);
      for (int64_t i = begin; i < end; ++i) {
        functions_.backward(window_, At(args.bottoms[0], i * plane, type_),
                            At(args.top_diffs[0][0], i * plane, type_),
                            static_cast<const float*>(args.saved) + i * plane,
                            At(args.bottom_diffs[0], i * plane, type_), scratch.data());
      }
    });
  }

 private:
  const LrnLayer& layer_;
  DType type_;
  const LrnFunctions& functions_;
  LrnWindow window_ = {};
  int64_t planes_ = 0;
  bool saved_ = false;
};

}  // namespace

std::unique_ptr<Kernel> NewLrnWithinChannel(const LrnLayer& layer, const KernelContext& context) {
  return std::make_unique<LrnWithinChannel>(layer, context);
}

}  // namespace gf
