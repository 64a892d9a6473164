// The pools of a net: which tensors they hold, in which order.

#include <glog/logging.h>

#include <utility>

#include "core/config/name_pattern.h"
#include "core/error.h"
#include "models/compiled_net.h"
#include "models/filler.h"
#include "models/init_parameters.h"
#include "models/parameter_names.h"

namespace gf {
namespace {

// In the order in which backward completes the gradients.
PoolLayout ParameterLayout(const CompiledNet& net) {
  PoolLayout layout;
  for (size_t k = net.ops.size(); k-- > 0;) {
    const CompiledOp& op = net.ops[k];
    const auto& specs = op.layer->parameters();
    for (size_t i = 0; i < specs.size(); ++i) {
      PoolEntry entry;
      entry.name = op.parameter_names[i];
      if (entry.name != OwnName(*op.layer, specs[i])) continue;
      entry.layer = op.layer->name();
      entry.shape = specs[i].shape;
      entry.layout = op.setup.parameters[i].layout;
      entry.lr_mult = specs[i].lr_mult;
      entry.decay_mult = specs[i].decay_mult;
      layout.Add(std::move(entry));
    }
  }
  return layout;
}

PoolLayout StateLayout(const CompiledNet& net) {
  PoolLayout layout;
  for (const CompiledOp& op : net.ops) {
    for (const StateSpec& spec : op.layer->states()) {
      PoolEntry entry;
      entry.name = op.layer->name() + "." + spec.name;
      entry.layer = op.layer->name();
      entry.shape = spec.shape;
      layout.Add(std::move(entry));
    }
  }
  return layout;
}

// Of the fillers that InitParameters will use.
void CheckFillers(const CompiledNet& net, const NetOptions& options) {
  for (const CompiledOp& op : net.ops) {
    for (size_t i = 0; i < op.parameter_names.size(); ++i) {
      const ParameterSpec& spec = op.layer->parameters()[i];
      if (op.parameter_names[i] != OwnName(*op.layer, spec)) continue;
      const int rule = InitRuleOf(options, op.parameter_names[i]);
      const std::string mistake =
          FillerMistake(rule < 0 ? *spec.filler : options.init[rule].second, spec.shape);
      if (mistake.empty()) continue;
      if (rule < 0 && !op.merged_scale.empty()) {
        ThrowUserError(op.merged_scale, ": ", spec.name, ": ", mistake);
      }
      if (rule < 0) op.layer->Fail(spec.name, ": ", mistake);
      ThrowUserError("init[", rule, "].filler: ", mistake);
    }
  }
}

}  // namespace

const PoolEntry& SharedEntry(const ParameterStore& store, const Layer& layer,
                             const std::string& name, const Shape& shape) {
  const PoolLayout& layout = store.layout();
  const int i = layout.Find(name);
  if (i < 0) layer.Fail("parameter ", name, " does not exist in the training net");
  const PoolEntry& entry = layout.entries()[i];
  if (entry.shape != shape) {
    layer.Fail("parameter ", name, " is ", shape.ToString(), " here and ", entry.shape.ToString(),
               " in the training net");
  }
  return entry;
}

void BuildParameters(const NetOptions& options, Device* device, CompiledNet* net) {
  if (options.parameters != nullptr) {
    CHECK(options.parameters->compute().desc.dtype == options.compute);
    CHECK(options.phase == TEST || options.parameters->gradient().data != nullptr);
    net->parameters = options.parameters;
  } else {
    if (options.phase == TRAIN) CheckFillers(*net, options);
    net->parameters = std::make_shared<ParameterStore>(
        device, ParameterLayout(*net), StateLayout(*net), options.compute, options.phase == TRAIN);
    for (size_t i = 0; i < options.init.size(); ++i) {
      CheckPattern(StrCat("init[", i, "].pattern"), options.init[i].first,
                   net->parameters->layout());
    }
  }
  for (CompiledOp& op : net->ops) {
    for (size_t i = 0; i < op.parameter_names.size(); ++i) {
      op.entries.push_back(net->parameters->layout().Find(op.parameter_names[i]));
      if (op.parameter_names[i] == OwnName(*op.layer, op.layer->parameters()[i])) {
        op.own_entries.push_back(op.entries.back());
      }
    }
    for (const StateSpec& spec : op.layer->states()) {
      const int entry = net->parameters->state_layout().Find(op.layer->name() + "." + spec.name);
      if (entry < 0) op.layer->Fail(spec.name, " does not exist in the training net");
      op.state_entries.push_back(entry);
    }
  }
}

void BindParameters(CompiledNet* net) {
  const ParameterStore& store = *net->parameters;
  const Tensor& compute = store.compute();
  // FP32 weights for operations that ask for them.
  const Tensor& fp32 = compute.desc.dtype == DType::kFP32 ? compute : store.master();
  for (CompiledOp& op : net->ops) {
    for (KernelArgs* args : {&op.forward_args, &op.backward_args, &op.recompute_args}) {
      args->parameters.clear();
      args->master.clear();
      args->parameter_diffs.clear();
      for (size_t i = 0; i < op.entries.size(); ++i) {
        const int64_t offset = store.layout().entries()[op.entries[i]].offset;
        const auto at = [&](const Tensor& pool) {
          return pool.as<char>() + offset * SizeOf(pool.desc.dtype);
        };
        args->parameters.push_back(at(compute));
        args->master.push_back(fp32.as<float>() + offset);
        if (!op.backward) continue;
        const int buffer = op.parameter_gradients[i];
        args->parameter_diffs.push_back(buffer < 0 ? at(store.gradient()) : net->At(buffer));
        if (buffer >= 0) {
          KernelArgs& sum = op.parameter_sum_args[i];
          sum.bottoms = {at(store.gradient()), net->At(buffer)};
          sum.tops = {at(store.gradient())};
        }
      }
    }
  }
  net->bound_weights = compute.data;
}

}  // namespace gf
