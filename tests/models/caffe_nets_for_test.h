#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/models/layers_for_test.h"

// Nets written the way Caffe's users write them.

namespace gf {

inline std::string PoolNames(const Net& net) {
  std::string names;
  for (const PoolEntry& entry : net.parameters()->layout().entries()) names += entry.name + " ";
  return names;
}

// Builds for a phase, runs forward and, in phase TRAIN, backward; returns the net.
inline std::unique_ptr<Net> Compute(const std::string& text, Phase phase,
                                    const Shape& image = Shape()) {
  NetOptions options = TestOptions(phase);
  options.image_shape = image;
  auto net = NewNet(text, options);
  net->InitParameters();
  const float loss = net->Forward(RandomBatch(net->input_shape(), net->classes())).Value();
  if (phase == TRAIN) {
    EXPECT_GT(loss, 0);
    net->Backward(1, nullptr);
    for (const auto& entry : Gradients(*net)) EXPECT_GT(Norm({entry}), 0) << entry.first;
  }
  return net;
}

inline std::string Head(const std::string& layers) {
  return R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [6, 3, 9, 9] } } }
    layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 6 } } })" +
         layers + R"(
    layer { name: "fc" type: "InnerProduct" bottom: "top" top: "fc"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" })";
}

constexpr char kConvolution[] =
    "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param "
    "{ num_output: 8 kernel_size: 3 bias_term: false weight_filler { type: 'msra' } } }";

}  // namespace gf
