#include "layers/silence.h"

namespace gf {
namespace {

GF_REGISTER_LAYER("Silence", SilenceLayer);

}  // namespace
}  // namespace gf
