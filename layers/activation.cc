#include "layers/activation.h"

namespace gf {
namespace {

GF_REGISTER(LayerRegistry, "ReLU", ReluLayer);
GF_REGISTER(LayerRegistry, "Sigmoid", SigmoidLayer);
GF_REGISTER(LayerRegistry, "TanH", TanhLayer);

}  // namespace
}  // namespace gf
