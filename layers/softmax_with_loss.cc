#include "layers/softmax_with_loss.h"

#include "core/config/net.pb.h"
#include "layers/labels.h"

namespace gf {

bool SoftmaxWithLossLayer::has_ignored() const { return param().loss_param().has_ignore_label(); }
int64_t SoftmaxWithLossLayer::ignored() const { return param().loss_param().ignore_label(); }
float SoftmaxWithLossLayer::label_smoothing() const {
  return param().loss_param().label_smoothing();
}

void SoftmaxWithLossLayer::SetUp(const std::vector<Shape>& bottoms) {
  SetUpScores(bottoms, param().softmax_param().axis());
  if (!(label_smoothing() >= 0 && label_smoothing() < 1)) {
    Fail("loss_param.label_smoothing is ", label_smoothing(),
         "; it must be at least 0 and less than 1");
  }
}

void SoftmaxWithLossLayer::SetUpScores(const std::vector<Shape>& bottoms, int axis) {
  const Shape& scores = bottoms[0];
  view_ = ClassAxisOf(scores, Axis(axis, scores.rank()));
  CheckLabels(*this, scores, bottoms[1], view_);
  if (LossWeight(1) != 0) {
    Fail("top 1 (the probabilities) has no gradient; its loss_weight must be 0, got ",
         LossWeight(1));
  }
  tops_ = {Shape{1}};
  if (param().top_size() > 1) tops_.push_back(scores);
}

double SoftmaxWithLossLayer::Normalizer(int64_t counted, int64_t samples) const {
  return Divisor({samples * view_.inner, counted, samples}, LossParameter::VALID);
}

namespace {

GF_REGISTER(LayerRegistry, "SoftmaxWithLoss", SoftmaxWithLossLayer);

}  // namespace
}  // namespace gf
