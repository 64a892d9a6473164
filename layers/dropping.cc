#include "layers/dropping.h"

#include <cmath>

#include "core/config/net.pb.h"
#include "core/random.h"

namespace gf {

bool DroppingLayer::identity() const { return phase() == TEST || ratio_ == 0; }

KeepDraws DroppingLayer::Draws(const KernelContext& context, uint64_t sequence) const {
  return {context.seed, StreamId(RandomUse::kDropout, context.layer_index, sequence),
          static_cast<uint32_t>(std::ceil(ratio_ * 0x1p24))};
}

void DroppingLayer::SetRatio(float ratio, const char* field) {
  if (!(ratio >= 0 && ratio < 1)) {
    Fail(field, " is ", ratio, "; it must be at least 0 and less than 1");
  }
  ratio_ = ratio;
}

void SetUpDropping(const DroppingLayer& layer, KernelSetup* setup) {
  setup->tops[0].layout = setup->bottoms[0].layout;
  setup->in_place = setup->in_place_backward = true;
  if (!layer.identity()) setup->saved_bytes = layer.Parts(setup->bottoms[0]);
}

}  // namespace gf
