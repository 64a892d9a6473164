#include "layers/sigmoid.h"

namespace gf {
namespace {

GF_REGISTER_LAYER("Sigmoid", SigmoidLayer);

}  // namespace
}  // namespace gf
