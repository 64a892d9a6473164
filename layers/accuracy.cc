#include "layers/accuracy.h"

#include "core/config/net.pb.h"
#include "layers/labels.h"

namespace gf {

int64_t AccuracyLayer::top_k() const { return param().accuracy_param().top_k(); }
bool AccuracyLayer::Ignored(int64_t label) const {
  return param().accuracy_param().has_ignore_label() &&
         label == param().accuracy_param().ignore_label();
}

void AccuracyLayer::SetUp(const std::vector<Shape>& bottoms) {
  const Shape& scores = bottoms[0];
  view_ = ClassAxisOf(scores, Axis(param().accuracy_param().axis(), scores.rank()));
  CheckLabels(*this, scores, bottoms[1], view_);
  if (top_k() < 1 || top_k() > view_.classes) {
    Fail("accuracy_param.top_k is ", top_k(), "; with ", view_.classes,
         " classes it must be in 1..", view_.classes, ": change it, or remove the layer");
  }
  tops_ = {Shape{1}};
  if (param().top_size() > 1) tops_.push_back(Shape{view_.classes});
}

namespace {

GF_REGISTER(LayerRegistry, "Accuracy", AccuracyLayer);

}  // namespace
}  // namespace gf
