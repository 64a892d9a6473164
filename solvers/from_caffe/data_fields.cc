#include "solvers/from_caffe/data_fields.h"

#include <cmath>
#include <cstdint>

#include "core/config/caffe_blob.h"
#include "core/error.h"
#include "core/readable.h"
#include "data/formats/datum.h"
#include "data/formats/record_source.h"
#include "models/data_layers.h"
#include "models/graph.h"

namespace gf {
namespace {

const char* NameOf(Phase phase) { return phase == TRAIN ? "train_data" : "validation_data"; }

// What stands before a message about a layer.
std::string Before(const GraphNode& node) {
  return StrCat(node.location, ": ", LayerWords(node), ": ");
}

// A number of the net's file as a field of the job, which has signed 32 bits.
int32_t Checked(int64_t number, const char* field, const GraphNode& node) {
  if (number > INT32_MAX) {
    ThrowUserError(Before(node), field, " is ", number, ", must be at most ", INT32_MAX);
  }
  return static_cast<int32_t>(number);
}

// The transform_param of a layer, completed by the older fields of data_param and
// image_data_param.
TransformationParameter TransformOf(const LayerParameter& layer) {
  TransformationParameter all = layer.transform_param();
  const auto complete = [&](const auto& old) {
    if (!all.has_scale() && old.has_scale()) all.set_scale(old.scale());
    if (!all.has_mirror() && old.has_mirror()) all.set_mirror(old.mirror());
    if (!all.has_crop_size() && old.has_crop_size()) all.set_crop_size(old.crop_size());
    if (!all.has_mean_file() && old.has_mean_file()) all.set_mean_file(old.mean_file());
  };
  complete(layer.data_param());
  complete(layer.image_data_param());
  return all;
}

// Caffe writes values of color channels in the order B, G, R, as a Datum has them.
void TranslateMean(const TransformationParameter& from, const GraphNode& node, DataConfig* to) {
  if (from.has_mean_file() && from.mean_value_size() > 0) {
    ThrowUserError(Before(node), "has mean_file and mean_value: remove one of them");
  }
  if (from.has_mean_file()) to->set_mean_file(from.mean_file());
  const int values = from.mean_value_size();
  if (values > 1 && to->has_channels() && to->channels() != values) {
    ThrowUserError(Before(node), "has ", values, " values of mean_value, but images of ",
                   Counted(to->channels(), "channel"), ": give one value, or one per channel");
  }
  for (int c = 0; c < values; ++c) to->add_mean(from.mean_value(DatumPlane(c, values)));
  if (values > 1) to->set_channels(values);
  if (!(from.scale() > 0) || !std::isfinite(1 / from.scale())) {
    ThrowUserError(Before(node), "transform_param.scale is ", from.scale(),
                   ", must be greater than 0");
  }
  if (from.scale() != 1) to->add_std(1 / from.scale());
}

bool HasRandomSize(const TransformationParameter& from) {
  return from.img_rand_resize_lower() > 0 && from.img_rand_resize_upper() > 0;
}

// NVCaffe resizes an image's shorter side to a random length, stretches it at random, and cuts a
// square of crop_size out of it. The square covers crop_size^2 of length^2 pixels of a square
// image.
void TranslateRandomSize(const TransformationParameter& from, const GraphNode& node,
                         DataConfig* to) {
  const double crop = from.crop_size();
  const double lower = from.img_rand_resize_lower(), upper = from.img_rand_resize_upper();
  if (lower < crop || upper < lower) {
    ThrowUserError(Before(node), "img_rand_resize_lower is ", lower, " and img_rand_resize_upper ",
                   upper, ", but they must be at least crop_size (", crop,
                   ") and in ascending order");
  }
  to->set_random_resized_crop(true);
  to->clear_random_crop();
  to->set_min_area(static_cast<float>(crop / upper * (crop / upper)));
  to->set_max_area(static_cast<float>(crop / lower * (crop / lower)));
  const double tallest = from.vertical_stretch_upper(), widest = from.horizontal_stretch_upper();
  const double lowest = from.vertical_stretch_lower(), thinnest = from.horizontal_stretch_lower();
  if (!(lowest > 0) || !(thinnest > 0) || tallest < lowest || widest < thinnest) {
    ThrowUserError(Before(node),
                   "the limits of vertical_stretch and horizontal_stretch must be greater than 0 "
                   "and in ascending order");
  }
  to->set_min_aspect(static_cast<float>(lowest / widest));
  to->set_max_aspect(static_cast<float>(tallest / thinnest));
}

void TranslateTransform(const GraphNode& node, Phase phase, DataFields* fields) {
  const TransformationParameter from = TransformOf(node.param);
  DataConfig* const to = &fields->config;
  if (from.force_color() && from.force_gray()) {
    ThrowUserError(Before(node), "has force_color and force_gray: remove one of them");
  }
  if (from.force_color()) to->set_channels(3);
  if (from.force_gray()) to->set_channels(1);
  TranslateMean(from, node, to);
  if (from.crop_size() > 0) {
    to->set_crop_size(Checked(from.crop_size(), "crop_size", node));
  }
  if (phase != TRAIN) return;
  if (from.mirror()) to->set_mirror(true);
  if (from.crop_size() == 0) return;
  to->set_random_crop(true);
  if (!HasRandomSize(from)) return;
  TranslateRandomSize(from, node, to);
  fields->remarks.push_back(
      StrCat(Before(node),
             "random sizes and stretching are approximated by random_resized_crop: "
             "windows of ",
             to->min_area(), " to ", to->max_area(), " of an image, with width / height from ",
             to->min_aspect(), " to ", to->max_aspect()));
}

// In Caffe, paths of a list without root_folder start at the working folder.
void TranslateList(const ImageDataParameter& images, const GraphNode& node, DataConfig* to) {
  to->set_source(images.source());
  to->set_format(DataConfig::LIST);
  to->set_root_folder(images.root_folder().empty() ? "." : images.root_folder());
  if (!images.is_color()) to->set_channels(1);
  if (images.new_height() == 0 && images.new_width() == 0) return;
  if (images.new_height() == 0 || images.new_width() == 0) {
    ThrowUserError(Before(node), "new_height is ", images.new_height(), " and new_width ",
                   images.new_width(), ": set both or none");
  }
  to->set_resize_height(Checked(images.new_height(), "new_height", node));
  to->set_resize_width(Checked(images.new_width(), "new_width", node));
}

void TranslateSource(const GraphNode& node, Phase phase, DataFields* fields) {
  const LayerParameter& layer = node.param;
  DataConfig* const to = &fields->config;
  const std::string& type = layer.type();
  if (type == "Data") {
    to->set_source(layer.data_param().source());
  } else if (type == "ImageData" && layer.image_data_param().has_source()) {
    TranslateList(layer.image_data_param(), node, to);
  } else if (type == "ImageData") {
    fields->no_source =
        StrCat(Before(node),
               "image_data_param.source is missing: name a list of images there, or "
               "name data with --set ",
               NameOf(phase), ".source=PATH");
  } else {
    fields->no_source = StrCat(Before(node),
                               "its data are not read: put the images into an LMDB, shards, or a "
                               "folder for each class, and name it with --set ",
                               NameOf(phase), ".source=PATH");
  }
}

}  // namespace

DataFields TranslateData(const NetSource& net, Phase phase) {
  DataFields fields;
  for (const GraphNode& node : ResolveGraph(net, phase)) {
    const LayerParameter& layer = node.param;
    if (!IsDataLayer(layer.type()) || fields.found) continue;
    fields.found = true;
    const int64_t batch = SizeOfData(layer, node.location).batch;
    if (batch > 0) fields.config.set_batch_size(Checked(batch, "batch_size", node));
    TranslateSource(node, phase, &fields);
    TranslateTransform(node, phase, &fields);
  }
  if (!fields.found) {
    fields.no_source = StrCat(net.file, ": the net has no data layer in phase ", Phase_Name(phase),
                              ": name the images with --set ", NameOf(phase),
                              ".source=PATH, and --set ", NameOf(phase), ".batch_size=N");
  }
  return fields;
}

PixelFormat PixelsOf(const DataConfig& data) {
  PixelFormat format = {PixelType::kUINT8, 0};
  try {
    if (!data.source().empty()) {
      const auto source = OpenSource(DataConfig::Format_Name(data.format()), SourceOptionsOf(data));
      Record record;
      source->Read(0, &record);
      if (record.raw) return record.raw_format;
      format.channels = 3;  // encoded images may be gray or colored one by one
    }
  } catch (const UserError&) {
    // The loader will say what is wrong.
  }
  if (data.mean_file().empty()) return format;
  format.channels = 0;
  try {
    const Shape shape = ReadCaffeBlob(data.mean_file()).shape;
    const int64_t channels = shape.rank() >= 3 ? shape[shape.rank() - 3] : 0;
    if (channels <= kMaxChannels) format.channels = static_cast<int>(channels);
  } catch (const UserError&) {
    // The loader will say this, too.
  }
  return format;
}

}  // namespace gf
