#include "data/augment/pixel_operation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "data/augment/pixel_operation_kernels.h"

namespace gf {
namespace {

constexpr int kLevels = 256;
using Levels = std::array<uint8_t, kLevels>;     // the new level of each level
using LevelTables = std::array<Levels, 3>;       // per channel
using Histogram = std::array<int64_t, kLevels>;  // pixels per level
constexpr double kDegree = 3.14159265358979323846 / 180;

// The pixels of an image.
struct Pixels {
  uint8_t* data;
  ImageSize size;
  int channels;

  int64_t numbers() const { return size.pixels() * channels; }
};

uint8_t Limited(double level) { return static_cast<uint8_t>(std::clamp(level, 0.0, 255.0)); }

template <int kChannels>
void LookUp(const LevelTables& tables, const Pixels& pixels) {
  uint8_t* pixel = pixels.data;
  for (int64_t i = 0; i < pixels.size.pixels(); ++i, pixel += kChannels) {
    for (int c = 0; c < kChannels; ++c) pixel[c] = tables[c][pixel[c]];
  }
}

void Apply(const LevelTables& tables, const Pixels& pixels) {
  if (pixels.channels == 1) return LookUp<1>(tables, pixels);
  LookUp<3>(tables, pixels);
}

// `level_of(level)`: the new level, for all channels.
template <typename LevelOf>
void ApplyLevels(const LevelOf& level_of, const Pixels& pixels) {
  LevelTables tables;
  for (int level = 0; level < kLevels; ++level) tables[0][level] = level_of(level);
  tables[1] = tables[2] = tables[0];
  Apply(tables, pixels);
}

std::array<Histogram, 3> HistogramsOf(const Pixels& pixels) {
  std::array<Histogram, 3> histograms = {};
  const uint8_t* pixel = pixels.data;
  for (int64_t i = 0; i < pixels.size.pixels(); ++i, pixel += pixels.channels) {
    for (int c = 0; c < pixels.channels; ++c) ++histograms[c][pixel[c]];
  }
  return histograms;
}

// The mean gray level, rounded.
int MeanGray(const Pixels& pixels) {
  int64_t sum = 0;
  const uint8_t* pixel = pixels.data;
  for (int64_t i = 0; i < pixels.size.pixels(); ++i, pixel += pixels.channels) {
    sum += pixels.channels == 1 ? pixel[0] : GrayOf(pixel);
  }
  return static_cast<int>(static_cast<double>(sum) / static_cast<double>(pixels.size.pixels()) +
                          0.5);
}

// Stretches the levels that occur over the whole range.
Levels StretchedLevels(const Histogram& histogram) {
  const auto occurs = [](int64_t count) { return count > 0; };
  const auto first = std::find_if(histogram.begin(), histogram.end(), occurs);
  const auto last = std::find_if(histogram.rbegin(), histogram.rend(), occurs);
  const auto low = static_cast<double>(first - histogram.begin());
  const auto high = static_cast<double>(histogram.rend() - last) - 1;
  const double scale = high > low ? 255 / (high - low) : 1;
  const double offset = high > low ? -low * scale : 0;
  Levels levels;
  for (int level = 0; level < kLevels; ++level) levels[level] = Limited(level * scale + offset);
  return levels;
}

// Makes all levels equally frequent, as far as possible.
Levels EqualizedLevels(const Histogram& histogram) {
  int64_t total = 0, last = 0;
  for (const int64_t count : histogram) {
    total += count;
    if (count > 0) last = count;
  }
  const int64_t step = (total - last) / 255;
  Levels levels;
  int64_t below = step / 2;
  for (int level = 0; level < kLevels; ++level) {
    levels[level] =
        static_cast<uint8_t>(step == 0 ? level : std::min<int64_t>(below / step, kLevels - 1));
    below += histogram[level];
  }
  return levels;
}

void ApplyPerChannel(Levels (*levels_of)(const Histogram&), const Pixels& pixels) {
  const std::array<Histogram, 3> histograms = HistogramsOf(pixels);
  LevelTables tables = {};
  for (int c = 0; c < pixels.channels; ++c) tables[c] = levels_of(histograms[c]);
  Apply(tables, pixels);
}

// The pixel (x, y) comes from the place (a x + b y + c, d x + e y + f), where the center of the
// first pixel is at (0.5, 0.5).
struct Affine {
  double a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;
};

Affine Rotation(double degrees, ImageSize size) {
  // Rounded so that quarters of a turn are exact.
  const auto rounded = [](double value) { return std::round(value * 1e15) / 1e15; };
  const double angle = -kDegree * (degrees - 360 * std::floor(degrees / 360));
  const double cosine = rounded(std::cos(angle)), sine = rounded(std::sin(angle));
  const double x = size.width / 2.0, y = size.height / 2.0;
  return {cosine, sine, -cosine * x - sine * y + x, -sine, cosine, sine * x - cosine * y + y};
}

// Takes the nearest pixels, with coordinates in 65,536ths as PIL has them.
template <int kChannels>
void Move(const Affine& affine, const Pixels& pixels, uint8_t* out) {
  const auto fixed = [](double value) {
    return static_cast<int64_t>(std::floor(value * 65536 + 0.5));
  };
  const auto width = static_cast<uint64_t>(pixels.size.width);
  const auto height = static_cast<uint64_t>(pixels.size.height);
  const int64_t x_step = fixed(affine.a), y_step = fixed(affine.d);
  int64_t row_x = fixed(affine.c + affine.a * 0.5 + affine.b * 0.5);
  int64_t row_y = fixed(affine.f + affine.d * 0.5 + affine.e * 0.5);
  for (uint64_t row = 0; row < height; ++row) {
    int64_t x = row_x, y = row_y;
    for (uint64_t column = 0; column < width; ++column, out += kChannels) {
      // Negative places become large numbers.
      const auto from_x = static_cast<uint64_t>(x >> 16), from_y = static_cast<uint64_t>(y >> 16);
      const bool inside = from_x < width && from_y < height;
      const uint64_t at = inside ? kChannels * (from_y * width + from_x) : 0;
      for (int c = 0; c < kChannels; ++c) out[c] = inside ? pixels.data[at + c] : 0;
      x += x_step;
      y += y_step;
    }
    row_x += fixed(affine.b);
    row_y += fixed(affine.e);
  }
}

void ApplyAffine(const Affine& affine, const Pixels& pixels, ByteBuffer* scratch) {
  uint8_t* const moved = scratch->Reserve(pixels.numbers());
  (pixels.channels == 1 ? &Move<1> : &Move<3>)(affine, pixels, moved);
  std::memcpy(pixels.data, moved, pixels.numbers());
}

// The border remains as it is.
void Sharpen(float factor, const Pixels& pixels, ByteBuffer* scratch) {
  const int64_t stride = int64_t{pixels.size.width} * pixels.channels;
  if (pixels.size.width < 3 || pixels.size.height < 3) return;
  uint8_t* const original = scratch->Reserve(pixels.numbers());
  std::memcpy(original, pixels.data, pixels.numbers());
  for (int64_t y = 1; y + 1 < pixels.size.height; ++y) {
    const int64_t begin = y * stride + pixels.channels;
    PixelOperationTable().sharpen(original + begin, stride, pixels.channels,
                                  stride - 2 * int64_t{pixels.channels}, factor,
                                  pixels.data + begin);
  }
}

void Saturate(float factor, const Pixels& pixels) {
  if (pixels.channels == 3)
    PixelOperationTable().saturate(pixels.data, pixels.size.pixels(), factor);
}

}  // namespace

const char* Name(PixelOperationKind kind) {
  constexpr const char* kNames[kPixelOperationKinds] = {
      "Identity", "ShearX",   "ShearY",    "TranslateX", "TranslateY", "Rotate",       "Brightness",
      "Color",    "Contrast", "Sharpness", "Posterize",  "Solarize",   "AutoContrast", "Equalize"};
  return kNames[static_cast<int>(kind)];
}

void ApplyPixelOperation(const PixelOperation& operation, ImageSize size, int channels,
                         uint8_t* data, ByteBuffer* scratch) {
  const Pixels pixels = {data, size, channels};
  const double magnitude = operation.magnitude;
  const auto factor = static_cast<float>(1 + magnitude);
  switch (operation.kind) {
    case PixelOperationKind::kIdentity:
      return;
    case PixelOperationKind::kShearX:
      return ApplyAffine({1, magnitude, 0, 0, 1, 0}, pixels, scratch);
    case PixelOperationKind::kShearY:
      return ApplyAffine({1, 0, 0, magnitude, 1, 0}, pixels, scratch);
    case PixelOperationKind::kTranslateX:
      return ApplyAffine({1, 0, -std::trunc(magnitude), 0, 1, 0}, pixels, scratch);
    case PixelOperationKind::kTranslateY:
      return ApplyAffine({1, 0, 0, 0, 1, -std::trunc(magnitude)}, pixels, scratch);
    case PixelOperationKind::kRotate:
      return ApplyAffine(Rotation(magnitude, size), pixels, scratch);
    case PixelOperationKind::kBrightness:
      return ApplyLevels([&](int level) { return Blended(0, level, factor); }, pixels);
    case PixelOperationKind::kColor:
      return Saturate(factor, pixels);
    case PixelOperationKind::kContrast: {
      const int gray = MeanGray(pixels);
      return ApplyLevels([&](int level) { return Blended(gray, level, factor); }, pixels);
    }
    case PixelOperationKind::kSharpness:
      return Sharpen(factor, pixels, scratch);
    case PixelOperationKind::kPosterize: {
      const int kept = 0xff << (8 - static_cast<int>(magnitude));
      return ApplyLevels([&](int level) { return static_cast<uint8_t>(level & kept); }, pixels);
    }
    case PixelOperationKind::kSolarize:
      return ApplyLevels(
          [&](int level) { return static_cast<uint8_t>(level < magnitude ? level : 255 - level); },
          pixels);
    case PixelOperationKind::kAutoContrast:
      return ApplyPerChannel(&StretchedLevels, pixels);
    case PixelOperationKind::kEqualize:
      return ApplyPerChannel(&EqualizedLevels, pixels);
  }
}

}  // namespace gf
