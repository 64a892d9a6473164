#include "layers/hinge_loss.h"

#include "core/config/net.pb.h"
#include "layers/labels.h"

namespace gf {

bool HingeLossLayer::squared() const {
  return param().hinge_loss_param().norm() == HingeLossParameter::L2;
}

double HingeLossLayer::Normalizer(int64_t samples) const {
  return Divisor({samples, samples, samples}, LossParameter::BATCH_SIZE);
}

void HingeLossLayer::SetUp(const std::vector<Shape>& bottoms) {
  const Shape& scores = bottoms[0];
  view_ = {scores[Axis(0, scores.rank())], scores.count(1, scores.rank()), 1};
  CheckLabels(*this, scores, bottoms[1], view_);
  RefuseNormalization();
  RefuseOtherTargets();
  tops_ = {Shape{1}};
}

void SetUpHingeLoss(const HingeLossLayer& layer, KernelSetup* setup) {
  for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
  setup->needs_bottom = {setup->backward, setup->backward};
  setup->forward_scratch_bytes = layer.view().outer * sizeof(float);
}

namespace {

GF_REGISTER(LayerRegistry, "HingeLoss", HingeLossLayer);

}  // namespace
}  // namespace gf
