#include "models/data_layers.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace gf {
namespace {

template <typename... Args>
[[noreturn]] void Fail(const LayerParameter& layer, const std::string& location,
                       const Args&... what) {
  ThrowUserError(location, ": layer \"", layer.name(), "\" (", layer.type(), "): ", what...);
}

void CheckTops(const LayerParameter& layer, const std::string& location) {
  if (layer.top_size() <= 2) return;
  Fail(layer, location, "has ", layer.top_size(), " tops; expected at most two: images and labels");
}

Shape ToShape(const BlobShape& shape) {
  return Shape(std::vector<int64_t>(shape.dim().begin(), shape.dim().end()));
}

// C x H x W; rank 0 if the layer does not say it.
Shape ImageOfMemoryData(const LayerParameter& layer, const std::string& location) {
  const MemoryDataParameter& p = layer.memory_data_param();
  if (!p.has_channels() && !p.has_height() && !p.has_width()) return Shape();
  Shape image{p.channels(), p.height(), p.width()};
  if (!IsSane(image)) {
    Fail(layer, location, "memory_data_param says that channels x height x width are ",
         image.ToString(), ", expected 1 or more of each and at most ", kMaxElements,
         " values: correct them, or remove all three, so that the job's data determine them");
  }
  return image;
}

// The shapes of a DummyData layer: one, or one per top.
InputParameter ShapesOfDummyData(const LayerParameter& layer, const std::string& location) {
  const DummyDataParameter& p = layer.dummy_data_param();
  const int tops = layer.top_size();
  const auto check_count = [&](const char* what, int got) {
    if (got == 1 || got == tops) return;
    Fail(layer, location, "dummy_data_param has ", got, " values of ", what,
         ", expected one, or one per top (", tops,
         "): for images, write shape { dim: [N, C, H, W] }");
  };
  InputParameter shapes;
  if (p.shape_size() > 0) {
    if (p.num_size() + p.channels_size() + p.height_size() + p.width_size() > 0) {
      Fail(layer, location, "give shape or num, channels, height and width, not both");
    }
    check_count("shape", p.shape_size());
    *shapes.mutable_shape() = p.shape();
    return shapes;
  }
  check_count("num", p.num_size());
  check_count("channels", p.channels_size());
  check_count("height", p.height_size());
  check_count("width", p.width_size());
  for (int i = 0; i < tops; ++i) {
    BlobShape* const shape = shapes.add_shape();
    for (const auto* extents : {&p.num(), &p.channels(), &p.height(), &p.width()}) {
      shape->add_dim(extents->Get(extents->size() == 1 ? 0 : i));
    }
  }
  return shapes;
}

}  // namespace

const std::vector<std::string>& DataLayerTypes() {
  static const auto* const types = new std::vector<std::string>{
      "Data", "DummyData", "HDF5Data", "ImageData", "MemoryData", "WindowData"};
  return *types;
}

bool IsDataLayer(const std::string& type) {
  const std::vector<std::string>& types = DataLayerTypes();
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool HoldsImages(const BlobShape& shape) {
  return shape.dim_size() == 4 && (shape.dim(1) != 1 || shape.dim(2) != 1 || shape.dim(3) != 1);
}

DataLayerSize SizeOfData(const LayerParameter& layer, const std::string& location) {
  CheckTops(layer, location);
  const std::string& type = layer.type();
  DataLayerSize size;
  if (type == "ImageData") {
    size.batch = layer.image_data_param().batch_size();
    size.crop = layer.image_data_param().crop_size();
  } else if (type == "WindowData") {
    size.batch = layer.window_data_param().batch_size();
    size.crop = layer.window_data_param().crop_size();
  } else if (type == "HDF5Data") {
    size.batch = layer.hdf5_data_param().batch_size();
  } else if (type == "MemoryData") {
    size.batch = layer.memory_data_param().batch_size();
    size.image = ImageOfMemoryData(layer, location);
  } else {
    size.batch = layer.data_param().batch_size();
    size.crop = layer.data_param().crop_size();
  }
  if (layer.transform_param().crop_size() > 0) size.crop = layer.transform_param().crop_size();
  return size;
}

void ClearImageSize(LayerParameter* layer) {
  layer->mutable_transform_param()->clear_crop_size();
  if (layer->has_data_param()) layer->mutable_data_param()->clear_crop_size();
  if (layer->has_image_data_param()) layer->mutable_image_data_param()->clear_crop_size();
  if (layer->has_window_data_param()) layer->mutable_window_data_param()->clear_crop_size();
  if (layer->has_memory_data_param()) {
    layer->mutable_memory_data_param()->clear_channels();
    layer->mutable_memory_data_param()->clear_height();
    layer->mutable_memory_data_param()->clear_width();
  }
}

void DummyDataToInput(const std::string& location, LayerParameter* layer) {
  CheckTops(*layer, location);
  InputParameter shapes = ShapesOfDummyData(*layer, location);
  if (layer->top_size() == 2 && HoldsImages(shapes.shape(shapes.shape_size() - 1))) {
    Fail(*layer, location, "its second top \"", layer->top(1), "\" holds labels, but its shape is ",
         ToShape(shapes.shape(shapes.shape_size() - 1)).ToString(),
         ": give it a shape { dim: N } of its own");
  }
  *layer->mutable_input_param() = std::move(shapes);
  layer->set_type("Input");
}

}  // namespace gf
