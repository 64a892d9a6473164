#include "layers/crop.h"

#include "layers/cuda/crop_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

class CropKernel : public RepeatingKernel {
 public:
  CropKernel(const CropLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    const TensorDesc& data = setup->bottoms[0];
    TensorDesc& top = setup->tops[0];
    top.layout = data.layout.plain() ? Layout() : WantedLayout(top.shape);
    const CropBox box = layer_.Box(data.layout.plain() ? 1 : data.shape[1]);
    CheckRowSize(layer_, data.shape.count() / box.dims[0]);
    forward_.axes = backward_.axes = static_cast<int>(box.dims.size());
    for (int i = 0; i < forward_.axes; ++i) {
      forward_.from[i] = backward_.to[i] = box.dims[i];
      forward_.to[i] = backward_.from[i] = box.extents[i];
      forward_.shift[i] = box.offsets[i];
      backward_.shift[i] = -box.offsets[i];
    }
  }

  void Forward(const KernelArgs& args) override {
    CopyShifted(forward_, SizeOf(context_.compute), args.bottoms[0], args.tops[0],
                StreamOf(context_));
  }
  void Backward(const KernelArgs& args) override {
    CopyShifted(backward_, SizeOf(context_.compute), args.top_diffs[0][0], args.bottom_diffs[0],
                StreamOf(context_));
  }

 private:
  const CropLayer& layer_;
  const KernelContext context_;
  CropView forward_, backward_;
};

GF_REGISTER(KernelRegistry, "cuda/Crop", KernelOf<CropLayer, CropKernel>);

}  // namespace
}  // namespace gf
