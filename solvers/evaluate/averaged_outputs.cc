#include "solvers/evaluate/averaged_outputs.h"

#include <cstddef>
#include <memory>

namespace gf {
namespace {

// The batch with each image moved down and to the right by `shift` pixels, which may be negative,
// and then mirrored left to right or not.
Batch Changed(const Batch& batch, int shift, bool mirrored) {
  Batch changed = batch;
  const Shape& shape = batch.images.desc.shape;
  if (batch.images.desc.dtype == DType::kUINT8) {
    changed.cuts.assign(shape[0], {-shift, -shift, mirrored ? 1 : 0, 1});
    return changed;
  }
  const auto pixels = std::make_shared<std::vector<float>>(shape.count());
  const int64_t height = shape[2], width = shape[3];
  const auto* const from = batch.images.as<const float>();
  float* to = pixels->data();
  for (int64_t row = 0; row < shape.count(0, 3); ++row) {
    const int64_t y = row % height, line = row - y + ReflectedPixel(y - shift, height);
    for (int64_t x = 0; x < width; ++x) {
      const int64_t place = (mirrored ? width - 1 - x : x) - shift;
      *to++ = from[line * width + ReflectedPixel(place, width)];
    }
  }
  changed.images.data = pixels->data();
  changed.images.owner = pixels;
  return changed;
}

std::vector<float> OutputsOf(const Batch& batch, Net* net) {
  net->Forward(batch);
  return net->Logits();
}

// The net's outputs for a batch moved by `shift`; with `flips`, their means over it and its mirror
// images.
std::vector<float> OutputsAt(const Batch& batch, int shift, bool flips, Net* net) {
  std::vector<float> outputs =
      shift == 0 ? OutputsOf(batch, net) : OutputsOf(Changed(batch, shift, false), net);
  if (!flips) return outputs;
  const std::vector<float> others = OutputsOf(Changed(batch, shift, true), net);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = 0.5f * (outputs[i] + others[i]);
  return outputs;
}

}  // namespace

std::vector<float> AveragedOutputs(const Batch& batch, const OutputAverage& average, Net* net) {
  const int shift = average.shift;
  std::vector<float> outputs = OutputsAt(batch, 0, average.flips, net);
  if (shift == 0) return outputs;
  const std::vector<float> up = OutputsAt(batch, -shift, average.flips, net);
  const std::vector<float> down = OutputsAt(batch, shift, average.flips, net);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = 0.5f * outputs[i] + 0.25f * (up[i] + down[i]);
  }
  return outputs;
}

}  // namespace gf
