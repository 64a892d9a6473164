#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/parameter_store.h"

namespace gf {

struct WeightsFileOptions {
  // Net and file must have the same tensors (a Caffe model may have more layers). Without it the
  // net takes what both have, and keeps the initial values of the rest.
  bool complete = true;
  bool bgr = false;                    // see CaffeModelOptions
  std::vector<std::string> skip = {};  // tensors of the net to leave as they are, by pattern
};

// Starts a net from a weights file, safetensors or (x.caffemodel) one of Caffe, or from the weights
// of a checkpoint's folder. `note` gets remarks for people. Throws UserError.
void LoadWeightsFile(const std::string& given, const WeightsFileOptions& options,
                     ParameterStore* store, const std::function<void(const std::string&)>& note);

}  // namespace gf
