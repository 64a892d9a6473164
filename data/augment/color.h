#pragma once

#include <cstdint>

#include "core/config/job.pb.h"
#include "core/random.h"

namespace gf {

// A random change of an image's colors: brightness, contrast and saturation are each multiplied
// by a factor, in this order, and a shift is added. All of it is one affine map of RGB, limited to
// 0..255 once, at its end. Contrast is about the image's mean gray, as in PIL.
struct ColorChange {
  float brightness = 1, contrast = 1, saturation = 1;
  float shift[3] = {0, 0, 0};

  bool Nothing() const;
  // To RGB pixels.
  void Apply(uint8_t* pixels, int64_t count) const;
};

// Draws a change as the config's brightness, contrast, saturation and lighting say.
ColorChange DrawColorChange(const DataConfig& config, Random* random);

}  // namespace gf
