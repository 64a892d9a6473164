#include "layers/softmax_with_loss.h"

#include <algorithm>

#include "core/config/net.pb.h"
#include "layers/labels.h"

namespace gf {

bool SoftmaxWithLossLayer::Ignored(int64_t label) const {
  return param().loss_param().has_ignore_label() && label == param().loss_param().ignore_label();
}
float SoftmaxWithLossLayer::label_smoothing() const {
  return param().loss_param().label_smoothing();
}

void SoftmaxWithLossLayer::SetUp(const std::vector<Shape>& bottoms) {
  const Shape& scores = bottoms[0];
  view_ = ClassAxisOf(scores, Axis(param().softmax_param().axis(), scores.rank()));
  CheckLabels(*this, scores, bottoms[1], view_);
  if (!(label_smoothing() >= 0 && label_smoothing() < 1)) {
    Fail("loss_param.label_smoothing is ", label_smoothing(),
         "; it must be at least 0 and less than 1");
  }
  if (LossWeight(1) != 0) {
    Fail("top 1 (the probabilities) has no gradient; its loss_weight must be 0, got ",
         LossWeight(1));
  }
  tops_ = {Shape{1}};
  if (param().top_size() > 1) tops_.push_back(scores);
}

float SoftmaxWithLossLayer::LossWeight(int top) const {
  if (top == 0 && param().loss_weight_size() == 0) return 1;
  return Layer::LossWeight(top);
}

double SoftmaxWithLossLayer::Normalizer(int64_t counted, int64_t samples) const {
  const LossParameter& loss = param().loss_param();
  auto mode = loss.normalization();
  if (!loss.has_normalization() && loss.has_normalize()) {
    mode = loss.normalize() ? LossParameter::VALID : LossParameter::BATCH_SIZE;
  }
  double normalizer = 1;
  switch (mode) {
    case LossParameter::FULL:
      normalizer = static_cast<double>(samples * view_.inner);
      break;
    case LossParameter::VALID:
      normalizer = static_cast<double>(counted);
      break;
    case LossParameter::BATCH_SIZE:
      normalizer = static_cast<double>(samples);
      break;
    case LossParameter::NONE:
      break;
  }
  return std::max(normalizer, 1.0);
}

namespace {

GF_REGISTER(LayerRegistry, "SoftmaxWithLoss", SoftmaxWithLossLayer);

}  // namespace
}  // namespace gf
