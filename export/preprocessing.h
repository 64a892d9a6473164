#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/config/job.pb.h"
#include "export/onnx_graph.h"

namespace gf {

// Keys and values of a model's metadata_props.
using OnnxMetadata = std::vector<std::pair<std::string, std::string>>;

// How an image becomes the input of a net, as a job's data say it: gf.channels ("RGB", "gray" or a
// number), and, where they are set, gf.pixel_type ("UINT16" or "FP32"; none is UINT8),
// gf.resize_shorter, gf.resize_height, gf.resize_width, gf.pad and gf.crop_size (pixels),
// gf.pad_mode ("REFLECT"; none is ZERO), gf.filter, and, unless nodes of the graph normalize,
// gf.mean and gf.std of pixels of that type (JSON arrays of one number, or of one per channel).
OnnxMetadata PreprocessingMetadata(const DataConfig& data, bool nodes_normalize);

// gf.class_names: a JSON array, by class; none without names.
OnnxMetadata ClassNamesMetadata(const std::vector<std::string>& names);

// (pixel - mean) / deviation for pixels of `type`: one number, or one per channel; empty is 0
// and 1.
struct PixelScaling {
  std::vector<float> mean, deviation;
  DataConfig::PixelType type = DataConfig::UINT8;
};

// The type of a tensor of such pixels.
onnx::TensorProto::DataType PixelTensorType(const PixelScaling& how);

// Adds the nodes that turn `pixels`, a tensor N x C x H x W of PixelTensorType(how), into
// normalized numbers. Throws UserError if the numbers of `how` are neither one nor `channels`.
std::string Normalize(const std::string& pixels, int64_t channels, const PixelScaling& how,
                      OnnxGraph* graph);

}  // namespace gf
