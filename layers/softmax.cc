#include "layers/softmax.h"

#include "core/config/net.pb.h"

namespace gf {

void SoftmaxLayer::SetUp(const std::vector<Shape>& bottoms) {
  SameShapeLayer::SetUp(bottoms);
  view_ = ClassAxisOf(bottoms[0], Axis(param().softmax_param().axis(), bottoms[0].rank()));
}

namespace {

GF_REGISTER(LayerRegistry, "Softmax", SoftmaxLayer);

}  // namespace
}  // namespace gf
