#include "layers/sigmoid.h"

namespace gf {
namespace {

GF_REGISTER(LayerRegistry, "Sigmoid", SigmoidLayer);

}  // namespace
}  // namespace gf
