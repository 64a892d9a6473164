#pragma once

#include <string>

#include "core/config/job.pb.h"
#include "core/shape.h"

namespace gf {

// C, H, W of a flag's text "3x227x227". Throws UserError that calls the flag --input.
Shape ParseInput(const std::string& text);

// C, H, W of a config's images where the config alone says them: crop_size, or resize_height and
// resize_width. Otherwise without axes.
Shape ImageShapeOf(const DataConfig& data);

}  // namespace gf
