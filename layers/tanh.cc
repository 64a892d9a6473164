#include "layers/tanh.h"

namespace gf {
namespace {

GF_REGISTER_LAYER("TanH", TanhLayer);

}  // namespace
}  // namespace gf
