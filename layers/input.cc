#include "layers/input.h"

#include "core/config/net.pb.h"

namespace gf {

void InputLayer::SetUp(const std::vector<Shape>& bottoms) {
  const InputParameter& p = param().input_param();
  if (p.shape_size() != 1 && p.shape_size() != param().top_size()) {
    Fail("expects one shape, or one per top (", param().top_size(), "), got ", p.shape_size());
  }
  for (int i = 0; i < param().top_size(); ++i) {
    const BlobShape& shape = p.shape(p.shape_size() == 1 ? 0 : i);
    Shape top(std::vector<int64_t>(shape.dim().begin(), shape.dim().end()));
    if (top.rank() == 0) {
      Fail("top \"", param().top(i),
           "\" has a shape without dim, expected one dim or more: add them");
    }
    if (!IsSane(top)) {
      Fail("top \"", param().top(i), "\" has the ", Impossible(top), ": correct its dims");
    }
    tops_.push_back(std::move(top));
    if (IsLabelValues(i) && tops_[i].count() / tops_[i][0] != p.label_values()) {
      Fail("top \"", param().top(i), "\" is ", tops_[i].ToString(), ", expected ", p.label_values(),
           " numbers per image (label_values)");
    }
  }
}

bool InputLayer::IsLabelValues(int top) const {
  return param().input_param().label_values() > 0 && !IsImage(top);
}

GF_REGISTER(LayerRegistry, "Input", InputLayer);

}  // namespace gf
