#pragma once

#include <functional>
#include <string>

#include "core/config/net.pb.h"

namespace gf {

// Reads a binary NetParameter from anywhere, layer by layer, so that only one layer's message is
// in memory: `layer` gets each layer in order. Layers of Caffe's V1 format arrive as
// LayerParameters too. Nothing in the file is believed unchecked. Throws UserError: not a Caffe
// model, cut off, of Caffe's V0 format, of V1 and today's format at once, or in HDF5.
void ReadCaffeModel(const std::string& path, const std::function<void(LayerParameter*)>& layer);

}  // namespace gf
