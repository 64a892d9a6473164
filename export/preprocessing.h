#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/config/job.pb.h"
#include "export/onnx_graph.h"

namespace gf {

// Keys and values of a model's metadata_props.
using OnnxMetadata = std::vector<std::pair<std::string, std::string>>;

// How an image becomes the input of a net, as a job's data say it: gf.channels ("RGB" or "gray"),
// and, where they are set, gf.resize_shorter, gf.resize_height, gf.resize_width, gf.pad and
// gf.crop_size (pixels), gf.filter, and, unless nodes of the graph normalize, gf.mean and gf.std of
// pixels from 0 to 255 (JSON arrays of one number, or of one per channel).
OnnxMetadata PreprocessingMetadata(const DataConfig& data, bool nodes_normalize);

// gf.class_names: a JSON array, by class; none without names.
OnnxMetadata ClassNamesMetadata(const std::vector<std::string>& names);

// (pixel - mean) / deviation for pixels from 0 to 255: one number, or one per channel; empty is 0
// and 1.
struct PixelScaling {
  std::vector<float> mean, deviation;
};

// Adds the nodes that turn `pixels`, a UINT8 tensor N x C x H x W, into normalized numbers. Throws
// UserError if the numbers of `how` are neither one nor `channels`.
std::string Normalize(const std::string& pixels, int64_t channels, const PixelScaling& how,
                      OnnxGraph* graph);

}  // namespace gf
