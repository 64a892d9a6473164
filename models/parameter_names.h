#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/config/net.pb.h"
#include "layers/layer.h"

namespace gf {

// What a parameter is called in the pools.
struct ParameterName {
  std::string name;
  // Whether this layer is the first in the net with this parameter.
  bool owned = true;
};

// Parameters of a net are called "<layer>.weight" and so on. Layers whose `param { }` entries have
// the same name share a parameter, which is called after the first of them in the file, whatever
// its phase.
class ParameterNames {
 public:
  explicit ParameterNames(const NetParameter& net);

  // The names of the layer's parameters, in their order. To be called once for each layer, in the
  // order of the net. Throws UserError if a shared parameter has another shape, learning rate,
  // decay or number of groups than in its first layer, or if a name belongs to no parameter.
  std::vector<ParameterName> NamesOf(const Layer& layer);

 private:
  struct Owner {
    std::string layer;
    ParameterSpec spec;
    uint32_t groups = 1;
  };
  // By the name in `param { }`: the first layer in the file, and the first one in the net.
  std::map<std::string, std::string> first_;
  std::map<std::string, Owner> owners_;
};

}  // namespace gf
