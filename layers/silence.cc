#include "layers/silence.h"

namespace gf {
namespace {

GF_REGISTER(LayerRegistry, "Silence", SilenceLayer);

}  // namespace
}  // namespace gf
