#include "layers/contrastive_loss.h"

#include "core/config/net.pb.h"

namespace gf {

float ContrastiveLossLayer::margin() const { return param().contrastive_loss_param().margin(); }
bool ContrastiveLossLayer::legacy() const {
  return param().contrastive_loss_param().legacy_version();
}

double ContrastiveLossLayer::Normalizer(int64_t pairs) const {
  return Divisor({pairs, pairs, pairs}, LossParameter::BATCH_SIZE);
}

void ContrastiveLossLayer::SetUp(const std::vector<Shape>& bottoms) {
  CheckPair(bottoms[0], bottoms[1]);
  RefuseNormalization();
  RefuseOtherTargets();
  pairs_ = bottoms[0][0];
  inner_ = bottoms[0].count() / pairs_;
  if (bottoms[2].count() != pairs_) {
    Fail("needs one label per pair: ", bottoms[0].ToString(), " are ", pairs_, " pairs, labels ",
         bottoms[2].ToString(), " are ", bottoms[2].count());
  }
  tops_ = {Shape{1}};
}

void SetUpContrastiveLoss(const ContrastiveLossLayer& layer, KernelSetup* setup) {
  for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
  setup->needs_bottom = {setup->backward, setup->backward, false};
  // Of each pair, its own factor of a - b in the gradient.
  setup->saved_bytes = layer.pairs() * sizeof(float);
  setup->forward_scratch_bytes = layer.pairs() * sizeof(float);
}

namespace {

GF_REGISTER(LayerRegistry, "ContrastiveLoss", ContrastiveLossLayer);

}  // namespace
}  // namespace gf
