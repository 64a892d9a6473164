#include "comm/choice/residual_handover.h"

#include "comm/wire/wire.h"

namespace gf {

ResidualHandover::ResidualHandover(const PoolLayout& layout, const Tensor& gradients,
                                   Device* device, const MomentumOfSolver& solver)
    : layout_(layout), gradients_(gradients), device_(device), solver_(solver) {}

void ResidualHandover::AddTo(const GradientFlow& flow) const {
  const Tensor residual = flow.residual();
  if (residual.data == nullptr) return;
  const WireFunctions& wire = WireFor(gradients_.desc.dtype, DType::kFP32);
  wire.add(residual.data, gradients_.data, layout_.count());
}

void ResidualHandover::Keep(const GradientFlow& flow) {
  const Tensor residual = flow.residual();
  if (residual.data == nullptr) return;
  const Tensor velocity = flow.StatePool("velocity");
  // Before its first sparse step TOPK has kept nothing.
  if (velocity.data != nullptr && !flow.carries_momentum().empty()) {
    ToGradients(layout_, solver_, velocity.as<float>(), residual.as<float>());
  }
  PackedRanges merged;
  merged.pool = gradients_;
  merged.residual = residual;
  for (const PoolEntry& entry : layout_.entries()) {
    merged.ranges.push_back({entry.offset, entry.offset + entry.count});
  }
  merger_ = RangePackerRegistry::Get().Create("device of comm.mode: AUTO", device_->name(), device_,
                                              merged);
}

void ResidualHandover::Merge(int first, int last) {
  if (merger_) merger_->Merge(first, last);
}

}  // namespace gf
