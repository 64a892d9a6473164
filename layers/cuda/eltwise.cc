#include "layers/eltwise.h"

#include "core/config/net.pb.h"
#include "layers/cuda/eltwise_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

EltwiseKind KindOf(const EltwiseLayer& layer) {
  switch (layer.operation()) {
    case EltwiseParameter::PROD:
      return EltwiseKind::kProduct;
    case EltwiseParameter::SUM:
      break;
    case EltwiseParameter::MAX:
      return EltwiseKind::kMaximum;
  }
  return EltwiseKind::kSum;
}

class EltwiseKernel : public RepeatingKernel {
 public:
  EltwiseKernel(const EltwiseLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context), kind_(KindOf(layer)) {}

  void Setup(KernelSetup* setup) override {
    if (setup->bottoms.size() > EltwiseTensors::kMost) {
      layer_.Fail("has ", setup->bottoms.size(), " bottoms, expected at most ",
                  EltwiseTensors::kMost, " on a GPU");
    }
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = setup->bottoms[0].layout;
    setup->tops[0].layout = setup->bottoms[0].layout;
    count_ = setup->tops[0].storage_count();
    const bool product = kind_ == EltwiseKind::kProduct;
    setup->needs_bottom.assign(setup->bottoms.size(), setup->backward && product);
    setup->needs_top[0] = setup->backward && layer_.relu();
    if (setup->backward && kind_ == EltwiseKind::kMaximum) setup->saved_bytes = count_;  // winners
    saved_ = setup->saved_bytes > 0;
    setup->in_place = !setup->needs_bottom[0];
    setup->in_place_backward = true;
    setup->max_top_diffs = 4;
  }

  void Forward(const KernelArgs& args) override {
    EltwiseForward(kind_, context_.compute, Tensors(args), count_, StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    EltwiseTensors t = Tensors(args);
    for (void* diff : args.top_diffs[0]) t.top_diffs[t.top_diff_count++] = diff;
    for (int b = 0; b < t.bottom_count; ++b) t.bottom_diffs[b] = args.bottom_diffs[b];
    EltwiseBackward(kind_, context_.compute, t, count_, StreamOf(context_));
  }

 private:
  EltwiseTensors Tensors(const KernelArgs& args) const {
    EltwiseTensors t;
    for (const void* bottom : args.bottoms) {
      t.coefficients[t.bottom_count] = layer_.coefficients()[t.bottom_count];
      t.bottoms[t.bottom_count++] = bottom;
    }
    t.relu = layer_.relu();
    t.top = args.tops[0];
    t.winners = saved_ ? static_cast<uint8_t*>(args.saved) : nullptr;
    return t;
  }

  const EltwiseLayer& layer_;
  const KernelContext context_;
  const EltwiseKind kind_;
  int64_t count_ = 0;
  bool saved_ = false;
};

GF_REGISTER(KernelRegistry, "cuda/Eltwise", KernelOf<EltwiseLayer, EltwiseKernel>);

}  // namespace
}  // namespace gf
