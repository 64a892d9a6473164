#include "layers/cuda/convolution_shape.h"

#include "layers/convolution.h"

namespace gf {

ConvolutionShape ShapeOf(const ConvolutionLayer& layer, const Shape& bottom, const Shape& top) {
  const Shape& images = layer.transposed() ? top : bottom;
  const Shape& results = layer.transposed() ? bottom : top;
  ConvolutionShape s;
  s.n = images[0];
  s.channels = images[1];
  s.outputs = results[1];
  s.groups = layer.groups();
  for (int i = 0; i < 2; ++i) {
    s.in[i] = images[2 + i];
    s.out[i] = results[2 + i];
    s.kernel[i] = layer.window().kernel[i];
    s.stride[i] = layer.window().stride[i];
    s.pad[i] = layer.window().pad[i];
    s.dilation[i] = layer.window().dilation[i];
  }
  return s;
}

}  // namespace gf
