#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"
#include "data/image/image.h"

namespace gf {

// The data layer of a phase as a job's data.
struct DataFields {
  // Without `channels` where the layer does not tell them.
  DataConfig config;
  bool found = false;  // whether the phase has a data layer
  // Where config has no source: why, and what to do, as an error.
  std::string no_source;
  // What was only approximated, for people: "file:line:col: layer ...".
  std::vector<std::string> remarks;
};

// Reads the sources, sizes and transform_param of a net's data layer. A crop and a mean image of
// Caffe become those of DataConfig; NVCaffe's random sizes become random_resized_crop. Relative
// paths stay as they are. Throws UserError for what contradicts itself.
DataFields TranslateData(const NetSource& net, Phase phase);

// The pixels of the images of a data set: of the first one if it is stored as pixels, else UINT8
// with the channels of the mean image; 3 channels for encoded images without one; 0 if they are
// unknown.
PixelFormat PixelsOf(const DataConfig& data);

}  // namespace gf
