#include "layers/input.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class InputEstimate : public EstimateKernel {
 public:
  InputEstimate(const InputLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    for (size_t i = 0; i < setup->tops.size(); ++i) {
      if (IsImage(i)) setup->tops[i].layout = WantedLayout(setup->tops[i].shape);
    }
  }

  // One copy from the host writes pixels and labels. One kernel per image top reads the pixels from
  // there; a copy moves the labels, and a kernel converts those that are FP32 numbers.
  void ForwardCost(const KernelArgs& args) override {
    const auto pixels = static_cast<int64_t>(args.batch->images.desc.bytes());
    const auto from = [&](size_t i) {
      if (IsImage(i)) return pixels;
      return layer_.IsLabelValues(static_cast<int>(i))
                 ? setup().tops[i].shape.count() * static_cast<int64_t>(sizeof(float))
                 : Top(i);
    };
    int64_t sent = 0;
    for (size_t i = 0; i < setup().tops.size(); ++i) sent += from(i);
    Move(OperationKind::kInput, sent);
    for (size_t i = 0; i < setup().tops.size(); ++i) Move(OperationKind::kInput, from(i) + Top(i));
  }

 private:
  bool IsImage(size_t top) const { return layer_.IsImage(static_cast<int>(top)); }

  const InputLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Input", KernelOf<InputLayer, InputEstimate>);

}  // namespace
}  // namespace gf
