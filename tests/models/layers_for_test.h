#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/models/net_for_test.h"

// Small nets in prototxt: layers whose top has the layer's name, for the inputs below.
namespace gf {

// Images "x", 4x3x8x8, and their labels "y".
constexpr char kInputs[] =
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [4, 3, 8, 8] } } }"
    "layer { name: 'y' type: 'Input' top: 'y' input_param { shape { dim: 4 } } }";

inline std::string Inner(const std::string& name, const std::string& bottom, int outputs) {
  return StrCat("layer { name: '", name, "' type: 'InnerProduct' bottom: '", bottom, "' top: '",
                name, "' inner_product_param { num_output: ", outputs,
                " weight_filler { type: 'xavier' } } }");
}

inline std::string Conv(const std::string& name, const std::string& bottom, int outputs) {
  return StrCat("layer { name: '", name, "' type: 'Convolution' bottom: '", bottom, "' top: '",
                name, "' convolution_param { num_output: ", outputs,
                " kernel_size: 3 pad: 1 weight_filler { type: 'msra' } } }");
}

// A layer of any type; `more` holds its parameters.
inline std::string Simple(const std::string& type, const std::string& name,
                          const std::string& bottom, const std::string& more = "") {
  return StrCat("layer { name: '", name, "' type: '", type, "' bottom: '", bottom, "' top: '", name,
                "' ", more, " }");
}

inline std::string Loss(const std::string& name, const std::string& scores, float weight = 1) {
  return StrCat("layer { name: '", name, "' type: 'SoftmaxWithLoss' bottom: '", scores,
                "' bottom: 'y' top: '", name, "' loss_weight: ", weight, " }");
}

// Forward and backward on random images with labels below 5. Returns the loss.
inline float Step(Net* net, float loss_scale = 1, uint64_t sequence = 0) {
  const float loss = net->Forward(RandomBatch(net->input_shape(), 5), sequence).Value();
  net->Backward(loss_scale, nullptr);
  return loss;
}

// What making a net of kInputs and these layers throws.
inline std::string Error(const std::string& layers, const NetOptions& options = TestOptions()) {
  return ErrorOf([&] { NewNet(kInputs + layers, options); });
}

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// kInputs and a trunk whose blob "trunk" is read by branches of 5 outputs, "branch0" ..., each
// with its loss; a weight of 0 leaves that branch out.
inline std::string Branches(const std::string& trunk, const std::vector<float>& weights) {
  std::string text = kInputs + trunk;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    text += Inner(StrCat("branch", i), "trunk", 5) +
            Loss(StrCat("loss", i), StrCat("branch", i), weights[i]);
  }
  return text;
}

}  // namespace gf
