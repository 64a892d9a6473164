#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/net.pb.h"
#include "core/shape.h"

// Caffe's data layers, which become inputs that the job's data fill (models/inputs.h).
namespace gf {

const std::vector<std::string>& DataLayerTypes();
bool IsDataLayer(const std::string& type);

// Whether an Input of this shape takes images: N x C x H x W, but not N x 1 x 1 x 1.
bool HoldsImages(const BlobShape& shape);

// What a data layer other than DummyData says about its images.
struct DataLayerSize {
  int64_t batch = 0;  // images; 0: it does not say
  int64_t crop = 0;   // height and width in pixels; 0: it does not say
  Shape image;        // C x H x W; rank 0: it does not say
};
// `location` is the layer's "file:line:col". Throws UserError for an impossible image and for more
// than two tops: images and labels.
DataLayerSize SizeOfData(const LayerParameter& layer, const std::string& location);

// Removes what SizeOfData finds, except for the batch: the layer takes what the data deliver.
void ClearImageSize(LayerParameter* layer);

// Turns a DummyData layer into an Input layer with its shapes. A second top holds labels. Throws
// UserError for contradicting numbers of shapes, a second top of images and more than two tops.
void DummyDataToInput(const std::string& location, LayerParameter* layer);

}  // namespace gf
