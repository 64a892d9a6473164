#include "layers/batch_norm.h"

#include "core/config/net.pb.h"

namespace gf {

bool BatchNormLayer::scale() const { return param().fusion().scale(); }
bool BatchNormLayer::scale_bias() const { return param().fusion().scale_bias(); }
bool BatchNormLayer::add() const { return param().fusion().add(); }
bool BatchNormLayer::relu() const { return param().fusion().relu(); }
bool BatchNormLayer::sums() const { return param().fusion().sums(); }
float BatchNormLayer::eps() const { return param().batch_norm_param().eps(); }
float BatchNormLayer::fraction() const {
  return param().batch_norm_param().moving_average_fraction();
}

bool BatchNormLayer::global_statistics() const {
  const BatchNormParameter& p = param().batch_norm_param();
  return p.has_use_global_stats() ? p.use_global_stats() : phase() == TEST;
}

void BatchNormLayer::SetUp(const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  if (bottom.rank() < 2) Fail("expects a bottom N x C x ..., got ", bottom.ToString());
  if (!(eps() > 0)) Fail("eps must be positive, got ", eps());
  if (!(fraction() >= 0 && fraction() <= 1)) {
    Fail("moving_average_fraction must lie in 0..1, got ", fraction());
  }
  if (add() && bottoms[1] != bottom) {
    Fail("cannot add ", bottoms[1].ToString(), " to ", bottom.ToString());
  }
  if (!global_statistics() && bottom.count() / bottom[1] < 2) {
    Fail("needs more than one value per channel to train, got ", bottom.ToString());
  }
  tops_ = {bottom};
  const Shape channels{bottom[1]};
  if (scale()) {
    // The `param { }` entries are those of the Scale layer that was merged.
    FillerParameter gamma = param().fusion().scale_filler(), beta;
    if (!param().fusion().has_scale_filler()) gamma.set_value(1);
    beta = param().fusion().scale_bias_filler();
    parameters_ = {Parameter(0, "weight", channels, gamma)};
    if (scale_bias()) parameters_.push_back(Parameter(1, "bias", channels, beta));
  }
  const bool fixed = phase() == TRAIN && global_statistics();
  states_ = {{"running_mean", channels, 0, fixed}, {"running_var", channels, 1, fixed}};
}

void BatchNormChannelsLayer::SetUp(const std::vector<Shape>& bottoms) {
  BatchNormLayer::SetUp(bottoms);
  tops_ = {Shape{kRows, bottoms[0][1]}};
}

GF_REGISTER(LayerRegistry, "BatchNorm", BatchNormLayer);
GF_REGISTER(LayerRegistry, "_BatchNormChannels", BatchNormChannelsLayer);
GF_REGISTER(LayerRegistry, "_BatchNormPair", BatchNormPairLayer);

}  // namespace gf
