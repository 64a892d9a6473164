#include "layers/dropout.h"

#include "core/config/net.pb.h"

namespace gf {

void DropoutLayer::SetUp(const std::vector<Shape>& bottoms) {
  SetRatio(param().dropout_param().dropout_ratio(), "dropout_param.dropout_ratio");
  SameShapeLayer::SetUp(bottoms);
}

namespace {

GF_REGISTER(LayerRegistry, "Dropout", DropoutLayer);

}  // namespace
}  // namespace gf
