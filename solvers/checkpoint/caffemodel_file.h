#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/config/net.pb.h"
#include "core/shape.h"

namespace gf {

// Reads a binary NetParameter from anywhere, layer by layer, so that only one layer's message is
// in memory: `layer` gets each layer in order. Layers of Caffe's V1 format arrive as
// LayerParameters too. Nothing in the file is believed unchecked. Throws UserError: not a Caffe
// model, cut off, of Caffe's V0 format, of V1 and today's format at once, or in HDF5.
void ReadCaffeModel(const std::string& path, const std::function<void(LayerParameter*)>& layer);

// The shape of a blob, from `shape` or from the four numbers of older files. Throws UserError,
// beginning with `where`, if it is impossible or does not fit the number of values.
Shape CaffeBlobShape(const BlobProto& blob, const std::string& where);

// The values of a blob, taken out of it.
std::vector<float> TakeCaffeBlob(BlobProto* blob);

}  // namespace gf
