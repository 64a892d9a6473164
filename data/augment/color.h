#pragma once

#include <cstdint>

#include "core/config/job.pb.h"
#include "core/random.h"

namespace gf {

// A random change of an image's colors: brightness, contrast and saturation are multiplied by a
// factor each, in this order, and a shift is added. Together they are one affine map of RGB; only
// its result is limited to 0..255. As in PIL, contrast changes the distance from the image's mean
// gray.
struct ColorChange {
  float brightness = 1, contrast = 1, saturation = 1;
  float shift[3] = {0, 0, 0};

  bool Nothing() const;
  // Applies the change to RGB pixels.
  void Apply(uint8_t* pixels, int64_t count) const;
};

// Draws a change according to brightness, contrast, saturation and lighting in the config.
ColorChange DrawColorChange(const DataConfig& config, Random* random);

}  // namespace gf
