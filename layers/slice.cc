#include "layers/slice.h"

#include "core/config/net.pb.h"

namespace gf {

void SliceLayer::SetUp(const std::vector<Shape>& bottoms) {
  const SliceParameter& slice = param().slice_param();
  if (slice.has_axis() && slice.has_slice_dim()) {
    Fail("slice_param has both axis and slice_dim (the old name); give axis only");
  }
  const int64_t axis = slice.has_slice_dim() ? static_cast<int64_t>(slice.slice_dim())
                                             : static_cast<int64_t>(slice.axis());
  if (axis > 32) Fail("axis ", axis, " is out of range");
  axis_ = Axis(static_cast<int>(axis), bottoms[0].rank());
  tops_.clear();
  for (const int64_t extent : Extents(bottoms[0][axis_])) {
    std::vector<int64_t> dims = bottoms[0].dims();
    dims[axis_] = extent;
    tops_.push_back(Shape(dims));
  }
}

std::vector<int64_t> SliceLayer::Extents(int64_t extent) const {
  const auto& points = param().slice_param().slice_point();
  const int tops = param().top_size();
  if (points.empty()) {
    if (extent % tops != 0) {
      Fail("the extent ", extent, " of axis ", axis_, " is not a multiple of ", tops,
           ", the number of tops; give slice_point");
    }
    return std::vector<int64_t>(tops, extent / tops);
  }
  if (points.size() != tops - 1) {
    Fail("slice_param has ", points.size(), " slice_point for ", tops, " tops; expected ",
         tops - 1);
  }
  std::vector<int64_t> extents;
  int64_t begin = 0;
  for (int i = 0; i <= points.size(); ++i) {
    const int64_t end = i < points.size() ? static_cast<int64_t>(points[i]) : extent;
    if (end <= begin || end > extent) {
      Fail("slice_point must rise from 1 to ", extent - 1, " (axis ", axis_, " has the extent ",
           extent, ")");
    }
    extents.push_back(end - begin);
    begin = end;
  }
  return extents;
}

namespace {

GF_REGISTER(LayerRegistry, "Slice", SliceLayer);

}  // namespace
}  // namespace gf
