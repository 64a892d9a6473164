#include "models/inputs.h"

#include <algorithm>

#include "core/error.h"
#include "core/readable.h"
#include "models/data_layers.h"
#include "models/job_net.h"

namespace gf {
namespace {

void AddShape(InputParameter* input, const std::vector<int64_t>& dims) {
  BlobShape* shape = input->add_shape();
  for (int64_t d : dims) shape->add_dim(d);
}

std::string Describe(const Shape& image) { return image.rank() == 0 ? "none" : image.ToString(); }

// Converts a Caffe data layer: its first top holds images, its second top, if any, labels.
void FromData(int64_t batch_size, const Shape& image_shape, GraphNode* node) {
  LayerParameter& p = node->param;
  const DataLayerSize size = SizeOfData(p, node->location);
  const int64_t batch = std::max<int64_t>(1, batch_size > 0 ? batch_size : size.batch);
  const int64_t crop = size.crop;
  const int64_t channels = image_shape.rank() == 3            ? image_shape[0]
                           : p.transform_param().force_gray() ? 1
                                                              : 3;
  Shape image = image_shape;
  if (size.image.rank() == 3) {
    image = size.image;  // FromInput compares it with image_shape
  } else if (crop > 0) {
    image = Shape{channels, crop, crop};
    if (image_shape.rank() == 3 && image != image_shape) {
      ThrowUserError(node->location, ": layer \"", p.name(), "\" crops images to ",
                     image.ToString(), " but is given ", image_shape.ToString(),
                     "; set crop_size of the data to ", crop);
    }
  }
  if (image.rank() != 3) {
    ThrowUserError(
        node->location, ": layer \"", p.name(), "\" (", p.type(),
        ") does not state the image size: set crop_size, or resize_height and resize_width, of the "
        "data (gfpredict: --set crop_size=32); where a program reads no data, give "
        "--input=3x32x32");
  }
  p.set_type("Input");
  p.clear_input_param();
  AddShape(p.mutable_input_param(), {batch, image[0], image[1], image[2]});
  if (p.top_size() == 2) AddShape(p.mutable_input_param(), {batch});
}

// Extents that the job leaves to the data (models/job_net.h).
void FollowData(const Shape& image_shape, const GraphNode& node, BlobShape* shape) {
  for (int axis = 1; axis < 4; ++axis) {
    if (shape->dim(axis) != kFollowsData) continue;
    if (image_shape.rank() != 3) {
      ThrowUserError(node.location, ": layer \"", node.param.name(),
                     "\" takes the size of the data (input of the job), which is not known: set "
                     "train_data.crop_size, or resize_height and resize_width, or give "
                     "input { channels height width }");
    }
    shape->set_dim(axis, image_shape[axis - 1]);
  }
}

// What to change where the net's images (C, H, W) differ from the data's.
std::string Advice(const Shape& net, const Shape& data) {
  if (net[1] != data[1] || net[2] != data[2]) {
    return "change resize, crop_size or channels of the data, or set input { } in the job, so that "
           "the net takes the size of the data";
  }
  return StrCat("the net takes ", Counted(net[0], "channel"), ", the data have ", data[0],
                ": set channels of the data (train_data.channels, validation_data.channels) to ",
                net[0], ", or input { channels: ", data[0], " } in the job");
}

void FromInput(int64_t batch_size, const Shape& image_shape, GraphNode* node) {
  for (BlobShape& shape : *node->param.mutable_input_param()->mutable_shape()) {
    if (shape.dim_size() == 0) continue;
    if (batch_size > 0) shape.set_dim(0, batch_size);
    if (shape.dim_size() != 4) continue;
    FollowData(image_shape, *node, &shape);
    if (image_shape.rank() != 3 || !HoldsImages(shape)) continue;
    const Shape image{shape.dim(1), shape.dim(2), shape.dim(3)};
    if (image == image_shape) continue;
    ThrowUserError(node->location, ": layer \"", node->param.name(), "\" takes images of ",
                   Describe(image), " but is given ", Describe(image_shape), "; ",
                   Advice(image, image_shape));
  }
}

// Gives the tops without images a number per label.
void SetLabels(const LabelConfig& labels, GraphNode* node) {
  InputParameter* const input = node->param.mutable_input_param();
  if (labels.type() == LabelConfig::CLASS) {
    input->clear_label_values();
    return;
  }
  for (BlobShape& shape : *input->mutable_shape()) {
    if (shape.dim_size() == 0 || HoldsImages(shape)) continue;
    if (labels.count() > 0) {
      input->set_label_values(labels.count());
      const int64_t batch = shape.dim(0);
      shape.clear_dim();
      shape.add_dim(batch);
      shape.add_dim(labels.count());
    } else if (input->label_values() == 0) {
      ThrowUserError(node->location, ": layer \"", node->param.name(), "\" holds labels of type ",
                     LabelConfig::Type_Name(labels.type()),
                     ", and how many numbers an image has is not known here: set labels.count of "
                     "the data");
    }
  }
}

}  // namespace

void SetInputs(int64_t batch_size, const Shape& image_shape, std::vector<GraphNode>* nodes,
               const LabelConfig* labels) {
  for (GraphNode& node : *nodes) {
    if (node.param.type() == "DummyData") {
      DummyDataToInput(node.location, &node.param);
    } else if (IsDataLayer(node.param.type())) {
      FromData(batch_size, image_shape, &node);
    }
    // Also of those that have just become one.
    if (node.param.type() != "Input") continue;
    FromInput(batch_size, image_shape, &node);
    if (labels != nullptr) SetLabels(*labels, &node);
  }
}

}  // namespace gf
