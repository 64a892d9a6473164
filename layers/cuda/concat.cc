#include "layers/concat.h"

#include "layers/cuda/piece_mover.h"

namespace gf {
namespace {

class ConcatKernel : public RepeatingKernel {
 public:
  ConcatKernel(const ConcatLayer& layer, const KernelContext& context)
      : layer_(layer), mover_(context) {}

  void Setup(KernelSetup* setup) override {
    mover_.Setup(layer_.axis(), &setup->tops[0], &setup->bottoms);
  }
  void Forward(const KernelArgs& args) override { mover_.Join(args.bottoms, args.tops[0]); }
  void Backward(const KernelArgs& args) override {
    mover_.Split(args.top_diffs[0][0], args.bottom_diffs);
  }

 private:
  const ConcatLayer& layer_;
  PieceMover mover_;
};

GF_REGISTER(KernelRegistry, "cuda/Concat", KernelOf<ConcatLayer, ConcatKernel>);

}  // namespace
}  // namespace gf
