#pragma once

#include <cstdint>

namespace gf {

// A convolution of images N x H x W x C with filters O x KH x KW x C / groups, both stored in this
// order. Index 0: height, 1: width. The padding is equal on both sides.
struct ConvolutionShape {
  int64_t n = 0, channels = 0, outputs = 0, groups = 1;
  int64_t in[2] = {}, out[2] = {}, kernel[2] = {}, stride[2] = {}, pad[2] = {}, dilation[2] = {};

  constexpr int64_t x_count() const { return n * in[0] * in[1] * channels; }
  constexpr int64_t y_count() const { return n * out[0] * out[1] * outputs; }
  constexpr int64_t w_count() const { return outputs * kernel[0] * kernel[1] * channels / groups; }
};

class ConvolutionLayer;
class Shape;

// The shape of a layer's convolution between blobs of shape N x C x H x W. See Note [Images and
// results] (layers/convolution.h).
ConvolutionShape ShapeOf(const ConvolutionLayer& layer, const Shape& bottom, const Shape& top);

}  // namespace gf
