#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"
#include "models/graph.h"
#include "models/parameter_store.h"

namespace gf {

// A network as a deploy.prototxt of BVLC's Caffe, for other programs.
struct DeployForm {
  // Inputs, layers without losses, labels and what serves training only.
  NetParameter net;
  // Layers with their weights, as in a .caffemodel.
  NetParameter weights;
  // Blobs to compare: the results of the net and the arguments of its last softmax.
  struct Output {
    std::string blob;      // in our net
    std::string producer;  // the layer that writes it, in `net`
  };
  std::vector<Output> outputs;
};

// Takes the nodes of phase TEST, with their inputs set. `store` holds the parameters and states of
// the net.
DeployForm NewDeployForm(const std::vector<GraphNode>& nodes, const ParameterStore& store);

}  // namespace gf
