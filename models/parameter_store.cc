#include "models/parameter_store.h"

#include <glog/logging.h>

#include <utility>

namespace gf {

ParameterStore::ParameterStore(Device* device, PoolLayout layout, PoolLayout states, DType compute,
                               bool gradients, PoolLayout frozen, bool plan_only)
    : device_(device),
      plan_only_(plan_only),
      has_gradients_(gradients),
      has_own_compute_(compute != DType::kFP32),
      layout_(std::move(layout)),
      state_layout_(std::move(states)),
      frozen_layout_(std::move(frozen)) {
  master_ = NewPool(layout_.count(), DType::kFP32);
  compute_ = has_own_compute_ ? NewPool(layout_.count(), compute) : master_;
  if (gradients) gradient_ = NewPool(layout_.count(), compute);
  states_ = NewPool(state_layout_.count(), DType::kFP32);
  frozen_master_ = NewPool(frozen_layout_.count(), DType::kFP32);
  frozen_compute_ = has_own_compute_ ? NewPool(frozen_layout_.count(), compute) : frozen_master_;
}

Tensor ParameterStore::NewPool(int64_t count, DType dtype) const {
  Tensor pool;
  pool.desc = {Shape{count}, dtype, Layout()};
  if (plan_only_) return pool;
  pool.owner = device_->Allocate(pool.desc.bytes());
  pool.data = pool.owner.get();
  return pool;
}

Tensor ParameterStore::View(const Tensor& pool, const PoolEntry& entry) const {
  CHECK(pool.data != nullptr) << entry.name << ": the pool has no memory";
  Tensor view;
  view.desc = {entry.shape, pool.desc.dtype, entry.layout};
  view.data = pool.as<char>() + entry.offset * SizeOf(pool.desc.dtype);
  return view;
}

std::vector<float> ParameterStore::Export(const Tensor& pool, const PoolEntry& entry) const {
  std::vector<float> values(entry.shape.count());
  Tensor plain;
  plain.desc = {entry.shape, DType::kFP32, Layout()};
  if (device_->shares_host_memory()) {
    plain.data = values.data();
    device_->Convert(View(pool, entry), plain, device_->compute_stream());
    return values;
  }
  plain.owner = device_->Allocate(plain.desc.bytes());
  plain.data = plain.owner.get();
  device_->Convert(View(pool, entry), plain, device_->compute_stream());
  device_->CopyToHost(plain.data, values.data(), plain.desc.bytes(), device_->compute_stream());
  return values;
}

void ParameterStore::Import(const std::vector<float>& values, const PoolEntry& entry,
                            const Tensor& pool) {
  CHECK_EQ(static_cast<int64_t>(values.size()), entry.shape.count()) << entry.name;
  Import(values.data(), entry, pool);
}

void ParameterStore::Import(const float* values, const PoolEntry& entry, const Tensor& pool) {
  Tensor plain;
  plain.desc = {entry.shape, DType::kFP32, Layout()};
  if (device_->shares_host_memory()) {
    plain.data = const_cast<float*>(values);
  } else {
    plain.owner = device_->Allocate(plain.desc.bytes());
    plain.data = plain.owner.get();
    device_->CopyFromHost(values, plain.data, plain.desc.bytes(), device_->compute_stream());
  }
  device_->Convert(plain, View(pool, entry), device_->compute_stream());
}

void ParameterStore::SetOwnCompute(bool own) {
  if (compute_.desc.dtype != DType::kFP32 || own == has_own_compute_) return;
  compute_ = own ? NewPool(layout_.count(), DType::kFP32) : master_;
  has_own_compute_ = own;
  if (!plan_only_) SyncCompute();
}

void ParameterStore::AddAverage() {
  average_ = std::make_shared<ParameterStore>(device_, layout_, state_layout_, compute_.desc.dtype,
                                              /*gradients=*/false, PoolLayout(), plan_only_);
  average_->frozen_layout_ = frozen_layout_;
  average_->frozen_master_ = frozen_master_;
  average_->frozen_compute_ = frozen_compute_;
}

void ParameterStore::SyncCompute() {
  if (has_own_compute()) device_->Convert(master_, compute_, device_->compute_stream());
  if (frozen_layout_.count() > 0 && frozen_compute_.data != frozen_master_.data) {
    device_->Convert(frozen_master_, frozen_compute_, device_->compute_stream());
  }
  BumpVersion();
}

}  // namespace gf
