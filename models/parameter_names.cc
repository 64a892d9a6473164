#include "models/parameter_names.h"

#include "core/config/net.pb.h"

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

std::string OwnName(const Layer& layer, const ParameterSpec& spec) {
  return layer.name() + "." + spec.name;
}

std::vector<std::string> ParameterNames::NamesOf(const Layer& layer) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : layer.parameters()) {
    names.push_back(OwnName(layer, spec));
    const auto i = static_cast<int>(names.size()) - 1;
    if (i >= layer.param().param_size() || !layer.param().param(i).has_name()) continue;
    const ParamSpec& param = layer.param().param(i);
    const auto [it, is_owner] = owners_.emplace(param.name(), Owner{layer.name(), spec});
    if (is_owner) continue;
    const Owner& owner = it->second;
    if (spec.shape != owner.spec.shape) {
      layer.Fail("param \"", param.name(), "\" is of ", spec.shape.ToString(), ", but of ",
                 owner.spec.shape.ToString(), " in layer \"", owner.layer,
                 "\"; layers can share a parameter of one shape only");
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
    names.back() = owner.layer + "." + owner.spec.name;
  }
  for (int i = static_cast<int>(names.size()); i < layer.param().param_size(); ++i) {
    if (!layer.param().param(i).has_name()) continue;
    layer.Fail("param \"", layer.param().param(i).name(), "\" is number ", i + 1,
               ", but the layer has only ", names.size(), " parameters; remove it");
  }
  return names;
}

}  // namespace gf
