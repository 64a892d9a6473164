#include "layers/pair_loss.h"

#include "core/config/net.pb.h"

namespace gf {

void PairLossLayer::SetUp(const std::vector<Shape>& bottoms) {
  CheckPair(bottoms[0], bottoms[1]);
  if (is_euclidean()) RefuseNormalization();
  RefuseOtherTargets();
  samples_ = bottoms[0][0];
  inner_ = bottoms[0].count() / samples_;
  tops_ = {Shape{1}};
}

bool PairLossLayer::has_ignored() const { return param().loss_param().has_ignore_label(); }
float PairLossLayer::ignored() const {
  return static_cast<float>(param().loss_param().ignore_label());
}

double PairLossLayer::Normalizer(int64_t counted, int64_t samples) const {
  return Divisor({samples * inner_, counted, samples}, LossParameter::BATCH_SIZE);
}

namespace {

GF_REGISTER(LayerRegistry, "EuclideanLoss", PairLossLayer);
GF_REGISTER(LayerRegistry, "SigmoidCrossEntropyLoss", PairLossLayer);

}  // namespace
}  // namespace gf
