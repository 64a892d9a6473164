#include "comm/choice/residual_handover.h"

#include <vector>

#include "comm/wire/wire.h"
#include "core/parallel.h"

namespace gf {

ResidualHandover::ResidualHandover(const PoolLayout& layout, const Tensor& gradients,
                                   Device* device, float momentum, bool nesterov)
    : layout_(layout),
      gradients_(gradients),
      device_(device),
      momentum_(momentum),
      nesterov_(nesterov) {}

void ResidualHandover::AddTo(const GradientFlow& flow) const {
  const Tensor residual = flow.residual();
  if (residual.data == nullptr) return;
  const WireFunctions& wire = WireFor(gradients_.desc.dtype, DType::kFP32);
  wire.add(residual.data, gradients_.data, layout_.count());
}

// Note [Handover of momentum]
// In the weights' unit, the residual h and the velocity u of TOPK would still move a weight by
// h + (m + m^2 + ...) u; with Nesterov's momentum by h + (m^2 + m^3 + ...) u. A gradient g moves it
// by (1 + m + m^2 + ...) g where the solver has the momentum m. So g = (1 - m) h + m u, or with
// Nesterov's (1 - m) h + m^2 u.
void ResidualHandover::Keep(const GradientFlow& flow) {
  const Tensor residual = flow.residual();
  if (residual.data == nullptr) return;
  const Tensor velocity = flow.StatePool("velocity");
  const std::vector<bool> carries = flow.carries_momentum();
  PackedRanges merged;
  merged.pool = gradients_;
  merged.residual = residual;
  for (size_t e = 0; e < layout_.entries().size(); ++e) {
    const PoolEntry& entry = layout_.entries()[e];
    merged.ranges.push_back({entry.offset, entry.offset + entry.count});
    if (carries.empty() || !carries[e] || velocity.data == nullptr) continue;
    float* const h = residual.as<float>() + entry.offset;
    const float* const u = velocity.as<float>() + entry.offset;
    const float future = nesterov_ ? momentum_ * momentum_ : momentum_;
    ParallelFor(entry.count, 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) h[i] = (1 - momentum_) * h[i] + future * u[i];
    });
  }
  merger_ = RangePackerRegistry::Get().Create("device of comm.mode: AUTO", device_->name(), device_,
                                              merged);
}

void ResidualHandover::Merge(int first, int last) {
  if (merger_) merger_->Merge(first, last);
}

}  // namespace gf
