#include "layers/relu.h"

namespace gf {
namespace {

GF_REGISTER_LAYER("ReLU", ReluLayer);

}  // namespace
}  // namespace gf
