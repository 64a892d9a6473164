#include "layers/eltwise.h"

#include "core/config/net.pb.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/eltwise_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class EltwiseKernel : public Kernel {
 public:
  EltwiseKernel(const EltwiseLayer& layer, const KernelContext& context) : layer_(layer) {
    const EltwiseFunctions& f = ForType(Eltwise(), context.compute);
    switch (layer.operation()) {
      case EltwiseParameter::SUM:
        forward_ = f.sum, backward_ = f.sum_backward;
        break;
      case EltwiseParameter::PROD:
        forward_ = f.product, backward_ = f.product_backward;
        break;
      case EltwiseParameter::MAX:
        forward_ = f.maximum, backward_ = f.maximum_backward;
        break;
    }
  }

  void Setup(KernelSetup* setup) override {
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = setup->bottoms[0].layout;
    setup->tops[0].layout = setup->bottoms[0].layout;
    count_ = setup->tops[0].storage_count();
    const bool product = layer_.operation() == EltwiseParameter::PROD;
    setup->needs_bottom.assign(setup->bottoms.size(), setup->backward && product);
    setup->needs_top[0] = setup->backward && layer_.relu();
    if (setup->backward && layer_.operation() == EltwiseParameter::MAX) {
      setup->saved_bytes = count_;  // which bottom was the largest
    }
    setup->in_place = !setup->needs_bottom[0];
    setup->in_place_backward = true;
    setup->max_top_diffs = 4;
    saved_ = setup->saved_bytes > 0;
  }

  void Forward(const KernelArgs& args) override { Run(forward_, Call(args)); }

  void Backward(const KernelArgs& args) override {
    EltwiseCall call = Call(args);
    call.top_diffs = args.top_diffs[0].data();
    call.top_diff_count = static_cast<int>(args.top_diffs[0].size());
    call.bottom_diffs = args.bottom_diffs.data();
    Run(backward_, call);
  }

 private:
  EltwiseCall Call(const KernelArgs& args) const {
    EltwiseCall call;
    call.bottoms = args.bottoms.data();
    call.count = static_cast<int>(layer_.coefficients().size());
    call.coefficients = layer_.coefficients().data();
    call.relu = layer_.relu();
    call.top = args.tops[0];
    call.winners = saved_ ? static_cast<uint8_t*>(args.saved) : nullptr;
    return call;
  }

  void Run(EltwiseFunction function, const EltwiseCall& call) {
    ParallelFor(count_, kElementGrain,
                [&](int64_t begin, int64_t end) { function(call, begin, end); });
  }

  const EltwiseLayer& layer_;
  EltwiseFunction forward_ = nullptr, backward_ = nullptr;
  int64_t count_ = 0;
  bool saved_ = false;
};

GF_REGISTER(KernelRegistry, "cpu/Eltwise", KernelOf<EltwiseLayer, EltwiseKernel>);

}  // namespace
}  // namespace gf
