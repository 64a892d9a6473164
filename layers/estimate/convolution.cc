#include "layers/convolution.h"

#include <glog/logging.h>

#include <algorithm>

#include "layers/deconvolution.h"
#include "layers/estimate/kernel.h"

namespace gf {
namespace {

// Of Convolution and Deconvolution.
class ConvolutionEstimate : public EstimateKernel {
 public:
  ConvolutionEstimate(const ConvolutionLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    setup->bottoms[0].layout = WantedLayout(setup->bottoms[0].shape);
    setup->tops[0].layout = WantedLayout(setup->tops[0].shape);
    const Layout filters = FilterLayout(setup->parameters[0].shape);
    CHECK(!setup->parameters_fixed || setup->parameters[0].layout == filters) << layer_.name();
    setup->parameters[0].layout = filters;
    if (!setup->backward) return;
    setup->needs_bottom[0] = true;
    setup->needs_top[0] = layer_.relu_backward();
  }

  // Every pass multiplies each output with each of its taps once; it reads two of images, filters
  // and results and writes the third. Of images it reads only the pixels under a filter, but it
  // writes the gradients of all of them. The product includes bias and ReLU, except for a
  // Deconvolution, whose bias is added afterward.
  void ForwardCost(const KernelArgs& args) override {
    Multiply(OperationKind::kConvolutionForward, Read(), layer_.ForwardFlops());
    if (layer_.transposed() && layer_.bias()) Move(OperationKind::kEltwise, 2 * Top());
  }
  void BackwardCost(const KernelArgs& args) override {
    BiasGradient(Top(), layer_.bias(), layer_.relu_backward());
    Multiply(OperationKind::kConvolutionWeights, Read(), layer_.ForwardFlops());
    if (args.bottom_diffs[0] == nullptr) return;
    Multiply(OperationKind::kConvolutionData, Bottom() + Top() + Parameter(0),
             layer_.ForwardFlops());
  }

 private:
  // Bytes of images, filters and results, without the pixels between filters that are smaller than
  // their stride.
  int64_t Read() const {
    int64_t pixels = Bottom();
    if (!layer_.transposed()) {
      const Window& w = layer_.window();
      const Shape &bottom = setup().bottoms[0].shape, &top = setup().tops[0].shape;
      for (int i = 0; i < 2; ++i) {
        pixels = pixels / bottom[2 + i] * std::min(bottom[2 + i], top[2 + i] * w.kernel[i]);
      }
    }
    return pixels + Top() + Parameter(0);
  }

  const ConvolutionLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Convolution",
            KernelOf<ConvolutionLayer, ConvolutionEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/Deconvolution",
            KernelOf<DeconvolutionLayer, ConvolutionEstimate>);

}  // namespace
}  // namespace gf
