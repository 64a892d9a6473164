#include "layers/softmax_with_loss.h"

#include <cmath>
#include <numeric>

#include "core/config/net.pb.h"
#include "core/readable.h"
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
  TakeClassWeights(bottoms[0]);
}

void SoftmaxWithLossLayer::TakeClassWeights(const Shape& scores) {
  const auto& weights = param().loss_param().class_weight();
  if (weights.empty() || phase() == TEST) return;
  if (weights.size() != view_.classes) {
    Fail("class_weight, of loss_param or of the job's solver, has ",
         Counted(weights.size(), "value"), ", expected ", view_.classes,
         ", one for each class of scores ", scores.ToString(), ": correct it");
  }
  for (int k = 0; k < weights.size(); ++k) {
    if (weights[k] >= 0 && std::isfinite(weights[k])) continue;
    Fail("loss_param.class_weight[", k, "] is ", weights[k], "; it must be finite and at least 0");
  }
  class_weights_.assign(weights.begin(), weights.end());
  sum_of_class_weights_ = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (sum_of_class_weights_ == 0) {
    Fail("all values of loss_param.class_weight are 0; at least one class must count");
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

double SoftmaxWithLossLayer::Normalizer(const int64_t* labels, int64_t samples) const {
  LossCounts counts;
  counts.all = samples * view_.inner;
  counts.counted =
      CountLabels(*this, view_, labels, samples, [&](int64_t label) { return Ignored(label); });
  counts.samples = samples;
  if (!class_weights_.empty()) {
    double weight = 0;
    for (int64_t i = 0; i < counts.all; ++i) {
      if (!Ignored(labels[i])) weight += class_weights_[labels[i]];
    }
    counts.weight = weight;
  }
  return Divisor(counts, LossParameter::VALID);
}

namespace {

GF_REGISTER(LayerRegistry, "SoftmaxWithLoss", SoftmaxWithLossLayer);

}  // namespace
}  // namespace gf
