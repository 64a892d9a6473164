#include "solvers/accumulator.h"

#include "solvers/pool_ranges.h"
#include "solvers/update_kernels.h"

namespace gf {

Accumulator::Accumulator(ParameterStore* store) : store_(store) {
  Device* device = store->device();
  sum_.desc = {Shape({store->layout().count()}), DType::kFP32, Layout()};
  sum_.owner = device->Allocate(sum_.desc.bytes());
  sum_.data = sum_.owner.get();
}

void Accumulator::Add(const std::vector<int>& entries) {
  const Tensor& gradient = store_->gradient();
  float* const sum = sum_.as<float>();
  for (int index : entries) {
    ForWholeEntries(
        store_->layout(), index, index, [&](const PoolEntry&, int64_t begin, int64_t end) {
          if (gradient.desc.dtype == DType::kFP32) {
            Updates().fp32.add(sum + begin, gradient.as<float>() + begin, end - begin);
          } else {
            Updates().bf16.add(sum + begin, gradient.as<uint16_t>() + begin, end - begin);
          }
        });
  }
}

void Accumulator::Merge(const std::vector<int>& entries) {
  const Tensor& gradient = store_->gradient();
  float* const sum = sum_.as<float>();
  for (int index : entries) {
    ForWholeEntries(
        store_->layout(), index, index, [&](const PoolEntry&, int64_t begin, int64_t end) {
          if (gradient.desc.dtype == DType::kFP32) {
            Updates().fp32.merge(gradient.as<float>() + begin, sum + begin, end - begin);
          } else {
            Updates().bf16.merge(gradient.as<uint16_t>() + begin, sum + begin, end - begin);
          }
        });
  }
}

}  // namespace gf
