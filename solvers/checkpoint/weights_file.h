#pragma once

#include <functional>
#include <string>

#include "models/parameter_store.h"

namespace gf {

struct WeightsFileOptions {
  // Everything in the net must be in the file. Without it a Caffe model may lack layers, which
  // then keep their initial weights; a safetensors file never may.
  bool complete = true;
  bool bgr = false;  // see CaffeModelOptions
};

// Starts a net from a weights file, safetensors or (x.caffemodel) one of Caffe, or from the weights
// of a checkpoint's folder. `note` gets remarks for people. Throws UserError.
void LoadWeightsFile(const std::string& given, const WeightsFileOptions& options,
                     ParameterStore* store, const std::function<void(const std::string&)>& note);

}  // namespace gf
