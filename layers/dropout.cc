#include "layers/dropout.h"

#include "core/config/net.pb.h"

namespace gf {

bool DropoutLayer::identity() const { return phase() == TEST || ratio() == 0; }
float DropoutLayer::ratio() const { return param().dropout_param().dropout_ratio(); }

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
