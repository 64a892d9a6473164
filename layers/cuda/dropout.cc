#include "layers/dropout.h"

#include <cmath>

#include "core/random.h"
#include "layers/cuda/dropout_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

class DropoutKernel : public RepeatingKernel {
 public:
  DropoutKernel(const DropoutLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Plan(KernelPlan* plan) override {
    plan->tops[0].layout = plan->bottoms[0].layout;
    count_ = plan->bottoms[0].storage_count();
    bytes_ = plan->bottoms[0].bytes();
    plan->in_place = plan->in_place_backward = true;
    if (!layer_.identity()) plan->saved_bytes = count_;  // one byte per element: kept or not
  }

  void Forward(const KernelArgs& args) override {
    if (layer_.identity()) return CopyOnDevice(context_, args.bottoms[0], args.tops[0], bytes_);
    const DropoutWords words = {context_.seed,
                                StreamId(RandomUse::kDropout, context_.layer_index, args.sequence),
                                static_cast<uint32_t>(std::ceil(layer_.ratio() * 0x1p24))};
    Dropout(context_.compute, args.bottoms[0], args.tops[0], static_cast<uint8_t*>(args.saved),
            Scale(), words, count_, StreamOf(context_));
  }

  // Each batch draws different random numbers.
  bool ForwardRepeats() const override { return layer_.identity(); }

  void Backward(const KernelArgs& args) override {
    const void* const dy = args.top_diffs[0][0];
    if (layer_.identity()) return CopyOnDevice(context_, dy, args.bottom_diffs[0], bytes_);
    DropoutGradient(context_.compute, dy, static_cast<const uint8_t*>(args.saved),
                    args.bottom_diffs[0], Scale(), count_, StreamOf(context_));
  }

 private:
  float Scale() const { return 1 / (1 - layer_.ratio()); }

  const DropoutLayer& layer_;
  const KernelContext context_;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cuda/Dropout", KernelOf<DropoutLayer, DropoutKernel>);

}  // namespace
}  // namespace gf
