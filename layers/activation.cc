#include "layers/activation.h"

#include "core/config/net.pb.h"

namespace gf {
namespace {

GF_REGISTER(LayerRegistry, "ReLU", ReluLayer);
GF_REGISTER(LayerRegistry, "Sigmoid", SigmoidLayer);
GF_REGISTER(LayerRegistry, "TanH", TanhLayer);

}  // namespace

float ReluLayer::negative_slope() const { return param().relu_param().negative_slope(); }

void SetUpActivation(bool from_top, KernelSetup* setup) {
  setup->tops[0].layout = setup->bottoms[0].layout;
  setup->needs_top[0] = setup->backward && from_top;
  setup->needs_bottom[0] = setup->backward && !from_top;
  setup->in_place = !setup->needs_bottom[0];
  setup->in_place_backward = true;
}

}  // namespace gf
