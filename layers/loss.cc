#include "layers/loss.h"

#include "core/config/net.pb.h"

namespace gf {

float LossLayer::LossWeight(int top) const {
  if (top == 0 && param().loss_weight_size() == 0) return 1;
  return Layer::LossWeight(top);
}

double LossLayer::Divisor(const LossCounts& counts, LossParameter_NormalizationMode mode) const {
  const LossParameter& loss = param().loss_param();
  if (loss.has_normalization()) {
    mode = loss.normalization();
  } else if (loss.has_normalize()) {
    mode = loss.normalize() ? LossParameter::VALID : LossParameter::BATCH_SIZE;
  }
  double divisor = 1;
  switch (mode) {
    case LossParameter::FULL:
      divisor = static_cast<double>(counts.all);
      break;
    case LossParameter::VALID:
      divisor = counts.weight ? *counts.weight : static_cast<double>(counts.counted);
      break;
    case LossParameter::BATCH_SIZE:
      divisor = static_cast<double>(counts.samples);
      break;
    case LossParameter::NONE:
      break;
  }
  return divisor > 0 ? divisor : 1;
}

void LossLayer::RefuseNormalization() const {
  const LossParameter& loss = param().loss_param();
  if (loss.has_ignore_label() || loss.has_normalization() || loss.has_normalize()) {
    Fail("loss_param: ignore_label, normalization and normalize do not go with this type");
  }
}

void LossLayer::RefuseOtherTargets() const {
  const LossParameter& loss = param().loss_param();
  const auto refuse = [&](bool given, const char* field) {
    if (!given) return;
    Fail("loss_param.", field, " does not go with this type: remove it, or the job's solver.",
         field);
  };
  refuse(loss.label_smoothing() != 0, "label_smoothing");
  refuse(loss.class_weight_size() > 0, "class_weight");
}

void LossLayer::CheckPair(const Shape& a, const Shape& b) const {
  if (a.rank() == 0 || b.rank() == 0 || a.count() != b.count() || a[0] != b[0]) {
    Fail("its bottoms must have the same number of samples, and of numbers per sample, got ",
         a.ToString(), " and ", b.ToString(),
         ": if one of them holds labels of the data, set the job's classes, or num_output of the "
         "last layer, to the numbers that these have per image");
  }
}

}  // namespace gf
