#include "layers/pointwise.h"

#include <cmath>

#include "core/config/net.pb.h"

namespace gf {
namespace {

// The natural logarithm of a base, where -1 stands for e.
float LogOfBase(float base) { return base == -1 ? 1.f : std::log(base); }

GF_REGISTER(LayerRegistry, "AbsVal", PointwiseLayer);
GF_REGISTER(LayerRegistry, "BNLL", PointwiseLayer);
GF_REGISTER(LayerRegistry, "Clip", PointwiseLayer);
GF_REGISTER(LayerRegistry, "ELU", PointwiseLayer);
GF_REGISTER(LayerRegistry, "Exp", PointwiseLayer);
GF_REGISTER(LayerRegistry, "GELU", PointwiseLayer);
GF_REGISTER(LayerRegistry, "HardSwish", PointwiseLayer);
GF_REGISTER(LayerRegistry, "Log", PointwiseLayer);
GF_REGISTER(LayerRegistry, "Power", PointwiseLayer);
GF_REGISTER(LayerRegistry, "SiLU", PointwiseLayer);
GF_REGISTER(LayerRegistry, "Swish", PointwiseLayer);

}  // namespace

void PointwiseLayer::SetUp(const std::vector<Shape>& bottoms) {
  SameShapeLayer::SetUp(bottoms);
  function_ = Function();
}

void PointwiseLayer::CheckBase(float base, const char* field) const {
  if (base != -1 && !(base > 0 && base != 1)) {
    Fail(field, ".base is ", base, "; it must be more than 0 and not 1, or -1 for e");
  }
}

// base ^ (shift + scale * x)
Pointwise PointwiseLayer::Exponential() const {
  const ExpParameter& p = param().exp_param();
  CheckBase(p.base(), "exp_param");
  const float log = LogOfBase(p.base());
  return {Pointwise::kExp, log * p.scale(), log * p.shift()};
}

// The logarithm of shift + scale * x to the base.
Pointwise PointwiseLayer::Logarithm() const {
  const LogParameter& p = param().log_param();
  CheckBase(p.base(), "log_param");
  return {Pointwise::kLog, p.scale(), p.shift(), 1 / LogOfBase(p.base())};
}

Pointwise PointwiseLayer::Function() const {
  if (type() == "AbsVal") return {Pointwise::kAbs};
  if (type() == "BNLL") return {Pointwise::kBnll};
  if (type() == "Clip") {
    const ClipParameter& p = param().clip_param();
    if (!p.has_min() || !p.has_max() || !(p.min() <= p.max())) {
      Fail("clip_param needs min and max with min <= max");
    }
    return {Pointwise::kClip, p.min(), p.max()};
  }
  if (type() == "ELU") return {Pointwise::kElu, param().elu_param().alpha()};
  if (type() == "Exp") return Exponential();
  if (type() == "GELU") {
    return {param().gelu_param().tanh() ? Pointwise::kGeluTanh : Pointwise::kGelu};
  }
  if (type() == "HardSwish") return {Pointwise::kHardSwish};
  if (type() == "Log") return Logarithm();
  if (type() == "Power") {
    const PowerParameter& p = param().power_param();
    return {Pointwise::kPower, p.scale(), p.shift(), p.power()};
  }
  if (type() == "Swish") return {Pointwise::kSwish, param().swish_param().beta()};
  return {Pointwise::kSwish, 1};  // SiLU
}

}  // namespace gf
