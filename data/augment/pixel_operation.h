#pragma once

#include <cstdint>

#include "data/image/byte_buffer.h"
#include "data/image/image.h"

namespace gf {

// Operations on an image's pixels, with the names of torchvision's RandAugment.
enum class PixelOperationKind : uint8_t {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
};
constexpr int kPixelOperationKinds = 14;

// "ShearX"
const char* Name(PixelOperationKind kind);

struct PixelOperation {
  PixelOperationKind kind = PixelOperationKind::kIdentity;
  // Shears: columns per row, rows per column. Translations: pixels to the right, down; a fraction
  // is dropped. Rotate: degrees counterclockwise. Brightness, Color, Contrast and Sharpness: the
  // factor less 1. Posterize: the bits that remain. Solarize: levels of at least this number are
  // inverted. The others have none.
  double magnitude = 0;
};

// Applies an operation to an image of 1 or 3 channels of 8 bits, in place. Pixels from outside the
// image are 0. torchvision gives the same pixels for PIL images, bit for bit.
void ApplyPixelOperation(const PixelOperation& operation, ImageSize size, int channels,
                         uint8_t* pixels, ByteBuffer* scratch);

}  // namespace gf
