#include "models/parameter_names.h"

namespace gf {
namespace {

// `field`: of `param { }`.
void CheckMultiplier(const Layer& layer, const std::string& name, const char* field, float got,
                     const std::string& owner, float expected) {
  if (got == expected) return;
  layer.Fail("param \"", name, "\" has ", field, " ", got, ", but ", expected, " in layer \"",
             owner, "\", with which it is shared; they must be equal");
}

}  // namespace

ParameterNames::ParameterNames(const NetParameter& net) {
  for (const LayerParameter& layer : net.layer()) {
    for (const ParamSpec& param : layer.param()) {
      if (param.has_name()) first_.emplace(param.name(), layer.name());
    }
  }
}

std::vector<ParameterName> ParameterNames::NamesOf(const Layer& layer) {
  std::vector<ParameterName> names;
  for (const ParameterSpec& spec : layer.parameters()) {
    names.push_back({layer.name() + "." + spec.name});
    const auto i = static_cast<int>(names.size()) - 1;
    if (i >= layer.param().param_size() || !layer.param().param(i).has_name()) continue;
    const ParamSpec& param = layer.param().param(i);
    const uint32_t groups = layer.param().convolution_param().group();
    const auto [it, is_owner] = owners_.emplace(param.name(), Owner{layer.name(), spec, groups});
    const Owner& owner = it->second;
    const auto first = first_.find(param.name());
    names.back() = {(first == first_.end() ? owner.layer : first->second) + "." + owner.spec.name,
                    is_owner};
    if (is_owner) continue;
    if (spec.shape != owner.spec.shape) {
      layer.Fail("param \"", param.name(), "\" is of ", spec.shape.ToString(), ", but of ",
                 owner.spec.shape.ToString(), " in layer \"", owner.layer,
                 "\"; layers can share a parameter of one shape only");
    }
    if (groups != owner.groups) {
      layer.Fail("param \"", param.name(), "\" has ", groups, " groups, but ", owner.groups,
                 " in layer \"", owner.layer, "\", with which it is shared; they must be equal");
    }
    // As in Caffe, a layer that names no multiplier takes the owner's.
    if (param.has_lr_mult()) {
      CheckMultiplier(layer, param.name(), "lr_mult", spec.lr_mult, owner.layer,
                      owner.spec.lr_mult);
    }
    if (param.has_decay_mult()) {
      CheckMultiplier(layer, param.name(), "decay_mult", spec.decay_mult, owner.layer,
                      owner.spec.decay_mult);
    }
  }
  for (int i = static_cast<int>(names.size()); i < layer.param().param_size(); ++i) {
    if (!layer.param().param(i).has_name()) continue;
    layer.Fail("param \"", layer.param().param(i).name(), "\" is number ", i + 1,
               ", but the layer has only ", names.size(), " parameters; remove it");
  }
  return names;
}

}  // namespace gf
