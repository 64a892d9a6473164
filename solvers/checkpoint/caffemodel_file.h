#pragma once

#include <functional>
#include <string>

#include "core/config/net.pb.h"

namespace gf {

// Reads a binary NetParameter from anywhere, layer by layer, so that only one layer's message is
// in memory: `layer` gets each layer in order. Nothing in the file is believed unchecked. Throws
// UserError: not a Caffe model, cut off, of Caffe's formats before 2014 or in HDF5.
void ReadCaffeModel(const std::string& path, const std::function<void(LayerParameter*)>& layer);

}  // namespace gf
