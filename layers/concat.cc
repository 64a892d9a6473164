#include "layers/concat.h"

#include "core/config/net.pb.h"

namespace gf {

void ConcatLayer::SetUp(const std::vector<Shape>& bottoms) {
  const ConcatParameter& concat = param().concat_param();
  if (concat.has_axis() && concat.has_concat_dim()) {
    Fail("concat_param has both axis and concat_dim (the old name); give axis only");
  }
  const int64_t axis = concat.has_concat_dim() ? static_cast<int64_t>(concat.concat_dim())
                                               : static_cast<int64_t>(concat.axis());
  if (axis > 32) Fail("axis ", axis, " is out of range");
  axis_ = Axis(static_cast<int>(axis), bottoms[0].rank());
  std::vector<int64_t> dims = bottoms[0].dims();
  for (size_t i = 1; i < bottoms.size(); ++i) {
    bool fits = bottoms[i].rank() == bottoms[0].rank();
    for (int d = 0; fits && d < bottoms[0].rank(); ++d) {
      fits = d == axis_ || bottoms[i][d] == bottoms[0][d];
    }
    if (!fits) {
      Fail("bottoms must have equal extents in every axis but axis ", axis_, ", but bottom ", i,
           " is ", bottoms[i].ToString(), " and bottom 0 is ", bottoms[0].ToString());
    }
    dims[axis_] += bottoms[i][axis_];
  }
  tops_ = {Shape(dims)};
}

namespace {

GF_REGISTER(LayerRegistry, "Concat", ConcatLayer);

}  // namespace
}  // namespace gf
