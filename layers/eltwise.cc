#include "layers/eltwise.h"

#include "core/config/net.pb.h"

namespace gf {

EltwiseParameter::EltwiseOp EltwiseLayer::operation() const {
  return param().eltwise_param().operation();
}
bool EltwiseLayer::relu() const { return param().fusion().relu(); }

void EltwiseLayer::SetUp(const std::vector<Shape>& bottoms) {
  for (size_t i = 1; i < bottoms.size(); ++i) {
    if (bottoms[i] != bottoms[0]) {
      Fail("bottoms must have one shape, but bottom ", i, " is ", bottoms[i].ToString(),
           " and bottom 0 is ", bottoms[0].ToString());
    }
  }
  const EltwiseParameter& eltwise = param().eltwise_param();
  if (eltwise.coeff_size() > 0) {
    if (operation() != EltwiseParameter::SUM) {
      Fail("eltwise_param.coeff goes with operation: SUM only");
    }
    if (eltwise.coeff_size() != static_cast<int>(bottoms.size())) {
      Fail("eltwise_param has ", eltwise.coeff_size(), " coeff for ", bottoms.size(),
           " bottoms; give one for each or none");
    }
  }
  if (operation() == EltwiseParameter::MAX && bottoms.size() > 256) {
    Fail("operation: MAX takes at most 256 bottoms, got ", bottoms.size());
  }
  coefficients_.assign(bottoms.size(), 1);
  for (int i = 0; i < eltwise.coeff_size(); ++i) coefficients_[i] = eltwise.coeff(i);
  tops_ = {bottoms[0]};
}

namespace {

GF_REGISTER(LayerRegistry, "Eltwise", EltwiseLayer);

}  // namespace
}  // namespace gf
