#pragma once

#include <string>
#include <vector>

#include "layers/cuda/cudnn/convolution_graph.h"

namespace gf {

// A pass of a convolution as a shipped net has it.
struct ShippedConvolution {
  std::string name;  // "resnet50 layer1.0.conv1 weights"
  ConvolutionPass pass;
  ConvolutionShape shape;  // n = 1
  ConvolutionEpilogue epilogue;
};

// All that training the nets of models/ needs, each shape once: forward without and with its
// epilogue, weights' gradients, data's gradients where they are wanted.
std::vector<ShippedConvolution> ShippedConvolutions();

}  // namespace gf
