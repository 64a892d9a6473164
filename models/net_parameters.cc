// The pools of a net: which tensors they hold, in which order.

#include <glog/logging.h>

#include <utility>

#include "core/config/name_pattern.h"
#include "core/error.h"
#include "models/compiled_net.h"
#include "models/filler.h"
#include "models/init_parameters.h"

namespace gf {
namespace {

// The frozen or the trained parameters, in the order in which backward completes the gradients.
PoolLayout ParameterLayout(const CompiledNet& net, bool frozen) {
  PoolLayout layout;
  for (size_t k = net.ops.size(); k-- > 0;) {
    const CompiledOp& op = net.ops[k];
    const auto& specs = op.layer->parameters();
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!op.parameters[i].owned || op.parameters[i].frozen != frozen) continue;
      PoolEntry entry;
      entry.name = op.parameters[i].name;
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
      entry.fixed = spec.fixed;
      layout.Add(std::move(entry));
    }
  }
  return layout;
}

// Of the fillers that InitParameters will use.
void CheckFillers(const CompiledNet& net, const NetOptions& options) {
  for (const CompiledOp& op : net.ops) {
    for (size_t i = 0; i < op.parameters.size(); ++i) {
      if (!op.parameters[i].owned) continue;
      const ParameterSpec& spec = op.layer->parameters()[i];
      const int rule = InitRuleOf(options, op.parameters[i].name);
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

// Checks the patterns of `init` and `freeze`.
void CheckPatterns(const NetOptions& options, const ParameterStore& store) {
  const std::vector<const PoolLayout*> all = {&store.layout(), &store.frozen_layout()};
  for (size_t i = 0; i < options.init.size(); ++i) {
    CheckPattern(StrCat("init[", i, "].pattern"), options.init[i].first, all);
  }
  for (size_t i = 0; i < options.freeze.size(); ++i) {
    CheckPattern(StrCat("freeze[", i, "]"), options.freeze[i], all);
  }
  if (store.layout().entries().empty() && !store.frozen_layout().entries().empty()) {
    ThrowUserError("freeze: fits all parameters of the net: nothing is left to train");
  }
}

}  // namespace

const PoolEntry& SharedEntry(const ParameterStore& store, const Layer& layer,
                             const std::string& name, const Shape& shape) {
  for (const PoolLayout* layout : {&store.layout(), &store.frozen_layout()}) {
    const int i = layout->Find(name);
    if (i < 0) continue;
    const PoolEntry& entry = layout->entries()[i];
    if (entry.shape != shape) {
      // Filters of images are O x I x H x W.
      const bool channels = shape.rank() == 4 && entry.shape.rank() == 4 &&
                            shape[0] == entry.shape[0] && shape[2] == entry.shape[2] &&
                            shape[3] == entry.shape[3];
      layer.Fail("parameter ", name, " is ", shape.ToString(), " here and ", entry.shape.ToString(),
                 " in the training net",
                 channels ? "; if the images of the two phases differ, set train_data.channels and "
                            "validation_data.channels to one number, or input { channels } in the "
                            "job"
                          : "");
    }
    return entry;
  }
  layer.Fail("parameter ", name, " does not exist in the training net");
}

void BuildParameters(const NetOptions& options, Device* device, CompiledNet* net) {
  if (options.parameters != nullptr) {
    CHECK(options.parameters->compute().desc.dtype == options.compute);
    CHECK(options.phase == TEST || options.parameters->has_gradients());
    CHECK(options.plan_only || !options.parameters->plan_only());
    net->parameters = options.parameters;
  } else {
    if (options.phase == TRAIN) CheckFillers(*net, options);
    net->parameters = std::make_shared<ParameterStore>(
        device, ParameterLayout(*net, /*frozen=*/false), StateLayout(*net), options.compute,
        options.phase == TRAIN, ParameterLayout(*net, /*frozen=*/true), options.plan_only);
    CheckPatterns(options, *net->parameters);
  }
  ParameterStore& store = *net->parameters;
  for (CompiledOp& op : net->ops) {
    for (size_t i = 0; i < op.parameters.size(); ++i) {
      CompiledParameter& parameter = op.parameters[i];
      const std::string own = op.layer->name() + "." + op.layer->parameters()[i].name;
      if (own != parameter.name) store.AddAlias(own, parameter.name);
      parameter.entry = store.frozen_layout().Find(parameter.name);
      parameter.frozen = parameter.entry >= 0;
      if (!parameter.frozen) parameter.entry = store.layout().Find(parameter.name);
    }
    for (const StateSpec& spec : op.layer->states()) {
      const int entry = store.state_layout().Find(op.layer->name() + "." + spec.name);
      if (entry < 0) op.layer->Fail(spec.name, " does not exist in the training net");
      op.state_entries.push_back(entry);
    }
  }
}

void BindParameters(CompiledNet* net) {
  const ParameterStore& store = *net->parameters;
  for (CompiledOp& op : net->ops) {
    for (KernelArgs* args : {&op.forward_args, &op.backward_args, &op.recompute_args}) {
      args->parameters.clear();
      args->master.clear();
      args->parameter_diffs.clear();
    }
    for (CompiledParameter& parameter : op.parameters) {
      const ParameterStore::Pools pools = store.PoolsOf(parameter.frozen);
      const int64_t offset = pools.layout.entries()[parameter.entry].offset;
      // FP32 weights for operations that ask for them.
      const Tensor& fp32 = pools.compute.desc.dtype == DType::kFP32 ? pools.compute : pools.master;
      const auto at = [&](const Tensor& pool) {
        return pool.as<char>() + offset * SizeOf(pool.desc.dtype);
      };
      for (KernelArgs* args : {&op.forward_args, &op.backward_args, &op.recompute_args}) {
        args->parameters.push_back(at(pools.compute));
        args->master.push_back(fp32.as<float>() + offset);
      }
      if (!op.backward) continue;
      if (op.setup.skips_parameter_diffs) {
        op.backward_args.parameter_diffs.push_back(nullptr);
        continue;
      }
      char* const buffer = net->At(parameter.gradient);
      op.backward_args.parameter_diffs.push_back(buffer != nullptr ? buffer : at(store.gradient()));
      if (parameter.sum == nullptr) continue;
      parameter.sum_args.bottoms = {at(store.gradient()), buffer};
      parameter.sum_args.tops = {at(store.gradient())};
    }
  }
  net->bound_weights = store.compute().data;
}

}  // namespace gf
