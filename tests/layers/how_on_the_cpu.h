#pragma once

#include <string>

#include "core/device.h"
#include "layers/kernel.h"
#include "tests/layers/layer_tester.h"

namespace gf {

// How the processor computes a convolution with these fields of convolution_param.
inline std::string HowOnTheCpu(const std::string& fields, const Shape& bottom, bool backward = true,
                               DType compute = DType::kFP32) {
  LayerCase test;
  test.prototxt = "type: 'Convolution' convolution_param { " + fields + " }";
  test.bottoms = {bottom};
  const auto layer = MakeLayer(test);
  const auto device = DeviceRegistry::Get().Create("device", "cpu", 1);
  KernelContext context;
  context.device = device.get();
  context.compute = compute;
  const auto kernel = KernelRegistry::Get().Create("kernel", "cpu/Convolution", *layer, context);
  KernelSetup setup;
  setup.backward = backward;
  setup.propagate.push_back(backward);
  setup.bottoms.push_back({bottom, compute, Layout()});
  setup.tops.push_back({layer->tops()[0], compute, Layout()});
  for (const ParameterSpec& spec : layer->parameters()) {
    setup.parameters.push_back({spec.shape, DType::kFP32, Layout()});
  }
  setup.needs_bottom.resize(1);
  setup.needs_top.resize(1);
  kernel->Setup(&setup);
  return kernel->Describe();
}

}  // namespace gf
