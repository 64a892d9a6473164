#include "layers/relu.h"

namespace gf {
namespace {

GF_REGISTER(LayerRegistry, "ReLU", ReluLayer);

}  // namespace
}  // namespace gf
