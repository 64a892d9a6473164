#include "layers/lrn.h"

namespace gf {

void LrnLayer::SetUp(const std::vector<Shape>& bottoms) {
  if (bottoms[0].rank() != 4) {
    Fail("needs a bottom of 4 axes (N x C x H x W), got ", bottoms[0].ToString());
  }
  if (size() < 1 || size() > 255 || size() % 2 == 0) {
    Fail("lrn_param.local_size is ", size(), "; it must be odd and at most 255");
  }
  SameShapeLayer::SetUp(bottoms);
}

int64_t LrnLayer::ForwardFlops() const {
  return tops()[0].count() * 2 * (within_channel() ? size() * size() : size());
}

namespace {

GF_REGISTER(LayerRegistry, "LRN", LrnLayer);

}  // namespace
}  // namespace gf
