#include "layers/split.h"

namespace gf {
namespace {

GF_REGISTER_LAYER("Split", SplitLayer);

}  // namespace
}  // namespace gf
