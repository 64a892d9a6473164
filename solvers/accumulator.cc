#include "solvers/accumulator.h"

namespace gf {

Accumulator::Accumulator(ParameterStore* store)
    : store_(store), arithmetic_(NewPoolArithmetic(store->device())) {
  Device* device = store->device();
  sum_.desc = {Shape({store->layout().count()}), DType::kFP32, Layout()};
  sum_.owner = device->Allocate(sum_.desc.bytes());
  sum_.data = sum_.owner.get();
}

ElementRange Accumulator::RangeOf(int entry) const {
  const PoolEntry& e = store_->layout().entries()[entry];
  return {e.offset, e.offset + e.count};
}

void Accumulator::Add(const std::vector<int>& entries) {
  for (int entry : entries) arithmetic_->Add(store_->gradient(), RangeOf(entry), sum_);
}

void Accumulator::Merge(const std::vector<int>& entries) {
  for (int entry : entries) arithmetic_->Merge(store_->gradient(), RangeOf(entry), sum_);
}

}  // namespace gf
