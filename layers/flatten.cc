#include "layers/flatten.h"

namespace gf {

void FlattenLayer::SetUp(const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const int begin = Axis(param().flatten_param().axis(), bottom.rank());
  const int end = Axis(param().flatten_param().end_axis(), bottom.rank()) + 1;
  if (end <= begin) {
    Fail("flatten_param.end_axis ", end - 1, " lies before axis ", begin, " (bottom ",
         bottom.ToString(), ")");
  }
  std::vector<int64_t> dims(bottom.dims().begin(), bottom.dims().begin() + begin);
  dims.push_back(bottom.count(begin, end));
  dims.insert(dims.end(), bottom.dims().begin() + end, bottom.dims().end());
  tops_ = {Shape(dims)};
}

namespace {

GF_REGISTER(LayerRegistry, "Flatten", FlattenLayer);

}  // namespace
}  // namespace gf
