#include "layers/dropout.h"

namespace gf {

void DropoutLayer::SetUp(const std::vector<Shape>& bottoms) {
  if (!(ratio() >= 0 && ratio() < 1)) {
    Fail("dropout_param.dropout_ratio is ", ratio(), "; it must be at least 0 and less than 1");
  }
  SameShapeLayer::SetUp(bottoms);
}

namespace {

GF_REGISTER(LayerRegistry, "Dropout", DropoutLayer);

}  // namespace
}  // namespace gf
