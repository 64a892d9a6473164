#include "layers/tanh.h"

namespace gf {
namespace {

GF_REGISTER(LayerRegistry, "TanH", TanhLayer);

}  // namespace
}  // namespace gf
