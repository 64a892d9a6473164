#include "layers/arg_max.h"

#include <algorithm>

#include "core/config/net.pb.h"

namespace gf {

void ArgMaxLayer::SetUp(const std::vector<Shape>& bottoms) {
  const ArgMaxParameter& p = param().argmax_param();
  const Shape& bottom = bottoms[0];
  const int axis = Axis(p.has_axis() ? p.axis() : 0, bottom.rank());
  ClassAxis& view = ranking_.view;
  view = p.has_axis() ? ClassAxisOf(bottom, axis)
                      : ClassAxis{bottom[0], bottom.count(1, bottom.rank()), 1};
  ranking_.top_k = p.top_k();
  if (ranking_.top_k < 1 || ranking_.top_k > view.classes) {
    Fail("argmax_param.top_k is ", ranking_.top_k, ", must be in 1..", view.classes,
         ", the number of values that are ranked");
  }
  if (view.classes > Ranking::kMostClasses) {
    Fail("would rank ", view.classes, " values, expected at most ", Ranking::kMostClasses,
         ": FP32 holds no larger index");
  }
  ranking_.numbers = p.out_max_val();
  ranking_.indices = !p.has_axis() || !p.out_max_val();
  if (p.has_axis()) {
    std::vector<int64_t> dims = bottom.dims();
    dims[axis] = ranking_.top_k;
    tops_ = {Shape(dims)};
    return;
  }
  std::vector<int64_t> dims(std::max(3, bottom.rank()), 1);
  dims[0] = bottom[0];
  dims[1] = ranking_.numbers ? 2 : 1;
  dims[2] = ranking_.top_k;
  tops_ = {Shape(dims)};
}

namespace {

GF_REGISTER(LayerRegistry, "ArgMax", ArgMaxLayer);

}  // namespace
}  // namespace gf
