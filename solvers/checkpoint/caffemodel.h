#pragma once

#include <string>
#include <vector>

#include "models/parameter_store.h"
#include "solvers/checkpoint/weights_report.h"

namespace gf {

// Whether a weights file is one of Caffe, by its name: "x.caffemodel", "x.caffemodel.h5" (which
// LoadCaffeModel refuses with advice).
bool IsCaffeModel(const std::string& path);

struct CaffeModelOptions {
  // Every parameter and statistic of the net must be in the file. Otherwise what the file lacks
  // stays as it is, but at least one layer must match.
  bool complete = true;
  // The file's net was trained on BGR images, as Caffe reads them; ours are RGB. Exchanges red
  // and blue in the weights of the convolutions that read the images.
  bool bgr = false;
  // Tensors of the net to leave as they are, by pattern (core/config/name_pattern.h).
  std::vector<std::string> skip = {};
};

struct CaffeModelReport : WeightsReport {  // `unused`: layers with blobs
  bool reads_color_images = false;         // a convolution of the net reads images of 3 channels
};

// Starts a net from a binary NetParameter of Caffe, also of its V1 format: layers are matched by
// name, their blobs by Caffe's order (weight, bias; BatchNorm: mean, variance, and the factor by
// which both are divided; Scale: gamma, beta, which belong to the BatchNorm before it where the net
// has merged the two). Extents of 1 in front of a shape do not count. Everything is checked before
// the first pool changes; then writes the compute pool and renews the version. Throws UserError.
CaffeModelReport LoadCaffeModel(const std::string& path, const CaffeModelOptions& options,
                                ParameterStore* store);

}  // namespace gf
