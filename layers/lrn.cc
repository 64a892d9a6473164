#include "layers/lrn.h"

#include "core/config/net.pb.h"

namespace gf {

bool LrnLayer::within_channel() const {
  return param().lrn_param().norm_region() == LRNParameter::WITHIN_CHANNEL;
}
int64_t LrnLayer::size() const { return param().lrn_param().local_size(); }
float LrnLayer::alpha() const { return param().lrn_param().alpha(); }
float LrnLayer::beta() const { return param().lrn_param().beta(); }
float LrnLayer::k() const { return param().lrn_param().k(); }

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
