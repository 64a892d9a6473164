#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "models/parameter_store.h"

namespace gf {

inline Device* TestDevice() {
  static Device* device = DeviceRegistry::Get().Create("device", "cpu", 0).release();
  return device;
}

inline PoolEntry TestEntry(const std::string& name, Shape shape, float lr_mult = 1,
                           float decay_mult = 1) {
  PoolEntry entry;
  entry.name = name;
  entry.layer = name.substr(0, name.find('.'));
  entry.shape = std::move(shape);
  entry.lr_mult = lr_mult;
  entry.decay_mult = decay_mult;
  return entry;
}

// A store of a small net with a convolution, a batch norm and a classifier; every weight and
// statistic has another value.
inline std::unique_ptr<ParameterStore> TestStore(DType compute = DType::kFP32, int64_t classes = 10,
                                                 Device* device = TestDevice()) {
  PoolLayout layout, states;
  layout.Add(TestEntry("fc.bias", Shape({classes}), 2, 0));
  layout.Add(TestEntry("fc.weight", Shape({classes, 33})));
  layout.Add(TestEntry("bn.weight", Shape({7}), 1, 0));
  layout.Add(TestEntry("conv.weight", Shape({7, 3, 5, 5}), 0.5f, 1));
  states.Add(TestEntry("bn.running_mean", Shape({7})));
  states.Add(TestEntry("bn.running_var", Shape({7})));
  auto store = std::make_unique<ParameterStore>(device, layout, states, compute, true);
  float value = 0.25f;
  const auto fill = [&](const PoolLayout& entries, const Tensor& pool) {
    for (const PoolEntry& entry : entries.entries()) {
      std::vector<float> values(entry.count);
      for (float& each : values) each = value += 0.001f;
      store->Import(values, entry, pool);
    }
  };
  fill(layout, store->master());
  fill(states, store->states());
  store->SyncCompute();
  return store;
}

// All values of a pool's entries in order.
inline std::vector<float> Values(const ParameterStore& store, const Tensor& pool,
                                 const PoolLayout& layout) {
  std::vector<float> values;
  for (const PoolEntry& entry : layout.entries()) {
    for (float value : store.Export(pool, entry)) values.push_back(value);
  }
  return values;
}

}  // namespace gf
