#include "layers/split.h"

namespace gf {
namespace {

GF_REGISTER(LayerRegistry, "Split", SplitLayer);

}  // namespace
}  // namespace gf
