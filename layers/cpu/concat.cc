#include "layers/concat.h"

#include "layers/cpu/channel_pieces.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class ConcatKernel : public Kernel {
 public:
  ConcatKernel(const ConcatLayer& layer, const KernelContext& context) : layer_(layer) {}

  void Setup(KernelSetup* setup) override {
    const TensorDesc first = setup->bottoms[0];
    pieces_.Setup(layer_.axis(), first, &setup->tops[0], &setup->bottoms);
  }
  void Forward(const KernelArgs& args) override { pieces_.Join(args.bottoms, args.tops[0]); }
  void Backward(const KernelArgs& args) override {
    pieces_.Split(args.top_diffs[0][0], args.bottom_diffs);
  }

 private:
  const ConcatLayer& layer_;
  ChannelPieces pieces_;
};

GF_REGISTER(KernelRegistry, "cpu/Concat", KernelOf<ConcatLayer, ConcatKernel>);

}  // namespace
}  // namespace gf
