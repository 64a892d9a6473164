// Pooling.

#include "layers/pooling.h"

#include <algorithm>

#include "core/config/net.pb.h"
#include "export/layer_writer.h"

namespace gf {
namespace {

// Note [Windows of ONNX]
// ONNX rounds the size of the output down. Here the last window may reach beyond the padding, so
// the padding at the end becomes what this window needs: the output then has the size of ours. It
// stays below the size of the window, as ONNX's programs demand, because the last window begins
// inside the image.
//
// An average of ONNX divides by the whole window with count_include_pad, else by the taps inside
// the image. Ours divides by the taps inside the image and its padding of `pad` on every side.
// Without padding these are the taps inside the image. With padding they are the whole window,
// except for last windows that reach beyond the padding, which a factor per pixel corrects.

// The padding after the image that the last window needs.
int64_t EndOf(const Window& window, int axis, int64_t in, int64_t out) {
  const int64_t end = (out - 1) * window.stride[axis] - window.pad[axis] + window.kernel[axis];
  return std::max<int64_t>(0, end - in);
}

// For each window along an axis: its size by the number of its taps inside the padded image.
std::vector<float> Corrections(const Window& window, int axis, int64_t in, int64_t out) {
  std::vector<float> factors;
  const int64_t kernel = window.kernel[axis], pad = window.pad[axis];
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * window.stride[axis] - pad;
    const int64_t taps = std::min(begin + kernel, in + pad) - begin;
    factors.push_back(static_cast<float>(kernel) / static_cast<float>(taps));
  }
  return factors;
}

std::string CorrectedAverage(const std::string& average, const Window& window, const Shape& bottom,
                             const Shape& top, LayerWriter* w) {
  const std::vector<float> rows = Corrections(window, 0, bottom[2], top[2]);
  const std::vector<float> columns = Corrections(window, 1, bottom[3], top[3]);
  std::vector<float> factors;
  for (const float row : rows) {
    for (const float column : columns) factors.push_back(row * column);
  }
  if (std::all_of(factors.begin(), factors.end(), [](float f) { return f == 1; })) return average;
  return w->Node("Mul", {average, w->Floats({1, 1, top[2], top[3]}, factors)});
}

void ConvertPooling(LayerWriter* w) {
  const auto& layer = w->As<PoolingLayer>();
  if (w->param().pooling_param().global_pooling()) {
    return w->SetTop(w->Node(layer.max() ? "GlobalMaxPool" : "GlobalAveragePool", {w->Input()}));
  }
  const Window& window = layer.window();
  const Shape &bottom = w->bottom().shape, &top = w->top().shape;
  const auto& [kernel, stride, pad, dilation] = window;
  OnnxAttributes attributes = {
      IntsAttribute("kernel_shape", {kernel[0], kernel[1]}),
      IntsAttribute("strides", {stride[0], stride[1]}),
      IntsAttribute("pads", {pad[0], pad[1], EndOf(window, 0, bottom[2], top[2]),
                             EndOf(window, 1, bottom[3], top[3])})};
  if (layer.max()) return w->SetTop(w->Node("MaxPool", {w->Input()}, attributes));
  const bool padded = pad[0] > 0 || pad[1] > 0;
  if (padded) attributes.push_back(IntAttribute("count_include_pad", 1));
  const std::string average = w->Node("AveragePool", {w->Input()}, attributes);
  w->SetTop(padded ? CorrectedAverage(average, window, bottom, top, w) : average);
}

GF_REGISTER(ConverterRegistry, "Pooling", ConvertBy<&ConvertPooling>);

}  // namespace
}  // namespace gf
