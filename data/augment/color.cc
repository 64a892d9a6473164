#include "data/augment/color.h"

#include "data/image/pixel_kernels.h"

namespace gf {
namespace {

constexpr float kGray[3] = {0.299f, 0.587f, 0.114f};

// Principal components of the colors of ImageNet's pixels (0..1): the standard deviation along each
// component, and its direction, one per column (Krizhevsky et al., 2012, section 4.1; values
// published with Torch's ResNet training).
constexpr float kDeviation[3] = {0.2175f, 0.0188f, 0.0045f};
constexpr float kDirection[3][3] = {
    {-0.5675f, 0.7192f, 0.4009f}, {-0.5808f, -0.0045f, -0.8140f}, {-0.5836f, -0.6948f, 0.4203f}};

float DrawFactor(float strength, Random* random) {
  if (strength == 0) return 1;
  const float low = strength < 1 ? 1 - strength : 0;
  return low + (1 + strength - low) * random->Uniform();
}

float MeanGray(const uint8_t* pixels, int64_t count) {
  int64_t sums[3] = {0, 0, 0};
  for (int64_t i = 0; i < count; ++i) {
    for (int c = 0; c < 3; ++c) sums[c] += pixels[3 * i + c];
  }
  float mean = 0;
  for (int c = 0; c < 3; ++c) mean += kGray[c] * static_cast<float>(sums[c]);
  return mean / static_cast<float>(count);
}

}  // namespace

bool ColorChange::Nothing() const {
  return brightness == 1 && contrast == 1 && saturation == 1 && shift[0] == 0 && shift[1] == 0 &&
         shift[2] == 0;
}

void ColorChange::Apply(uint8_t* pixels, int64_t count) const {
  const float mean = contrast == 1 ? 0 : brightness * MeanGray(pixels, count);
  const float factor = brightness * contrast, rest = (1 - contrast) * mean;
  float matrix[12];
  for (int c = 0; c < 3; ++c) {
    for (int from = 0; from < 3; ++from) {
      matrix[4 * c + from] =
          factor * ((1 - saturation) * kGray[from] + (c == from ? saturation : 0));
    }
    matrix[4 * c + 3] = rest + shift[c];
  }
  PixelTable().transform(pixels, count, matrix);
}

ColorChange DrawColorChange(const DataConfig& config, Random* random) {
  ColorChange change;
  change.brightness = DrawFactor(config.brightness(), random);
  change.contrast = DrawFactor(config.contrast(), random);
  change.saturation = DrawFactor(config.saturation(), random);
  if (config.lighting() == 0) return change;
  for (int component = 0; component < 3; ++component) {
    const float length = config.lighting() * random->Gaussian() * kDeviation[component] * 255;
    for (int c = 0; c < 3; ++c) change.shift[c] += length * kDirection[c][component];
  }
  return change;
}

}  // namespace gf
