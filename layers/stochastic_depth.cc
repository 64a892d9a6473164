#include "layers/stochastic_depth.h"

#include "core/config/net.pb.h"

namespace gf {

void StochasticDepthLayer::SetUp(const std::vector<Shape>& bottoms) {
  SetRatio(param().stochastic_depth_param().drop_ratio(), "stochastic_depth_param.drop_ratio");
  Axis(0, bottoms[0].rank());
  SameShapeLayer::SetUp(bottoms);
}

int64_t StochasticDepthLayer::Parts(const TensorDesc& bottom) const {
  return param().stochastic_depth_param().mode() == StochasticDepthParameter::ROW ? bottom.shape[0]
                                                                                  : 1;
}

namespace {

GF_REGISTER(LayerRegistry, "StochasticDepth", StochasticDepthLayer);

}  // namespace
}  // namespace gf
