#include "models/init_parameters.h"

#include <algorithm>

#include "core/config/name_pattern.h"
#include "core/error.h"
#include "models/filler.h"

namespace gf {

int InitRuleOf(const NetOptions& options, const std::string& parameter) {
  for (size_t i = options.init.size(); i-- > 0;) {
    if (NameFits(options.init[i].first, parameter)) return static_cast<int>(i);
  }
  return -1;
}

void InitParameters(const CompiledNet& net, const NetOptions& options, Device* device) {
  ParameterStore& store = *net.parameters;
  int64_t largest = 0;
  for (const PoolLayout* layout : {&store.layout(), &store.frozen_layout()}) {
    for (const PoolEntry& entry : layout->entries()) {
      largest = std::max(largest, entry.shape.count());
    }
  }
  // Uses the gradient pool if possible, to avoid touching new memory.
  const size_t bytes = largest * sizeof(float);
  const Tensor& gradient = store.gradient();
  const bool borrow =
      device->shares_host_memory() && gradient.data && gradient.desc.bytes() >= bytes;
  std::shared_ptr<void> own;
  if (!borrow) own = DeviceRegistry::Get().Create("device", "cpu", 0)->Allocate(bytes);
  float* const values = static_cast<float*>(borrow ? gradient.data : own.get());
  for (const CompiledOp& op : net.ops) {
    const auto& specs = op.layer->parameters();
    for (size_t i = 0; i < specs.size(); ++i) {
      const CompiledParameter& parameter = op.parameters[i];
      if (!parameter.owned) continue;
      const ParameterStore::Pools pools = store.PoolsOf(parameter.frozen);
      const PoolEntry& entry = pools.layout.entries()[parameter.entry];
      const int rule = InitRuleOf(options, entry.name);
      Fill(rule < 0 ? *specs[i].filler : options.init[rule].second, specs[i].shape, options.seed,
           entry.name, values);
      store.Import(values, entry, pools.master);
    }
    const auto& states = op.layer->states();
    for (size_t i = 0; i < states.size(); ++i) {
      const PoolEntry& entry = store.state_layout().entries()[op.state_entries[i]];
      store.Import(std::vector<float>(entry.shape.count(), states[i].initial), entry,
                   store.states());
    }
  }
  if (borrow) device->Zero(gradient.data, bytes, device->compute_stream());
  store.SyncCompute();
}

}  // namespace gf
