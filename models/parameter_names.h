#pragma once

#include <map>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace gf {

// What the parameters of a net's layers are called in the pools: "<layer>.weight". Layers whose
// `param { }` entries have the same name share a parameter, which is called after the first of
// them, its owner.
class ParameterNames {
 public:
  // The names of the layer's parameters, in their order. To be called once for each layer, in the
  // order of the net. Throws UserError if a shared parameter has another shape, learning rate or
  // decay than in its owner, or if a name belongs to no parameter.
  std::vector<std::string> NamesOf(const Layer& layer);

 private:
  struct Owner {
    std::string layer;
    ParameterSpec spec;
  };
  std::map<std::string, Owner> owners_;  // by the name in `param { }`
};

// What a parameter is called that its layer does not share, or of which it is the owner.
std::string OwnName(const Layer& layer, const ParameterSpec& spec);

}  // namespace gf
