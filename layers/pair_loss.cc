#include "layers/pair_loss.h"

#include <algorithm>

#include "core/config/net.pb.h"

namespace gf {

void PairLossLayer::SetUp(const std::vector<Shape>& bottoms) {
  if (bottoms[0].rank() == 0 || bottoms[0].count() != bottoms[1].count() ||
      bottoms[1].rank() == 0 || bottoms[0][0] != bottoms[1][0]) {
    Fail("its bottoms must have the same number of samples, and of numbers per sample, got ",
         bottoms[0].ToString(), " and ", bottoms[1].ToString());
  }
  const LossParameter& loss = param().loss_param();
  if (is_euclidean() &&
      (loss.has_ignore_label() || loss.has_normalization() || loss.has_normalize())) {
    Fail("loss_param: ignore_label, normalization and normalize do not go with this type");
  }
  if (loss.label_smoothing() != 0) Fail("loss_param.label_smoothing does not go with this type");
  samples_ = bottoms[0][0];
  inner_ = bottoms[0].count() / samples_;
  tops_ = {Shape{1}};
}

float PairLossLayer::LossWeight(int top) const {
  if (param().loss_weight_size() == 0) return 1;
  return Layer::LossWeight(top);
}

bool PairLossLayer::has_ignored() const { return param().loss_param().has_ignore_label(); }
float PairLossLayer::ignored() const {
  return static_cast<float>(param().loss_param().ignore_label());
}

double PairLossLayer::Normalizer(int64_t counted, int64_t samples) const {
  const LossParameter& loss = param().loss_param();
  auto mode = LossParameter::BATCH_SIZE;
  if (loss.has_normalization()) {
    mode = loss.normalization();
  } else if (loss.normalize()) {
    mode = LossParameter::VALID;
  }
  double normalizer = 1;
  if (mode == LossParameter::FULL) normalizer = static_cast<double>(samples * inner_);
  if (mode == LossParameter::VALID) normalizer = static_cast<double>(counted);
  if (mode == LossParameter::BATCH_SIZE) normalizer = static_cast<double>(samples);
  return std::max(normalizer, 1.0);
}

namespace {

GF_REGISTER(LayerRegistry, "EuclideanLoss", PairLossLayer);
GF_REGISTER(LayerRegistry, "SigmoidCrossEntropyLoss", PairLossLayer);

}  // namespace
}  // namespace gf
