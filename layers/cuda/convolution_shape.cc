#include "layers/cuda/convolution_shape.h"

#include "layers/convolution.h"

namespace gf {

ConvolutionShape ShapeOf(const ConvolutionLayer& layer, const Shape& bottom, const Shape& top) {
  ConvolutionShape s;
  s.n = bottom[0];
  s.channels = bottom[1];
  s.outputs = top[1];
  s.groups = layer.groups();
  for (int i = 0; i < 2; ++i) {
    s.in[i] = bottom[2 + i];
    s.out[i] = top[2 + i];
    s.kernel[i] = layer.window().kernel[i];
    s.stride[i] = layer.window().stride[i];
    s.pad[i] = layer.window().pad[i];
    s.dilation[i] = layer.window().dilation[i];
  }
  return s;
}

}  // namespace gf
