#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/image/image.h"

namespace gf {

// What a data set holds, from every image's header.
struct DataSetInfo {
  std::string description;
  int64_t images = 0, bytes = 0;
  int64_t classes = 0;
  std::map<int64_t, int64_t> counts;  // of the classes that have images
  std::vector<std::string> class_names;
  // Of the images that could be read.
  int min_height = 0, max_height = 0, min_width = 0, max_width = 0;
  int64_t grayscale = 0;  // with one channel
  // Of images with other pixels than 1 or 3 channels of 8 bits: "UINT16", "FP32", "8 channels".
  std::map<std::string, int64_t> kinds;
  // Images whose header could not be read: how many, and the first few with the reason.
  int64_t damaged = 0;
  std::vector<std::string> damaged_examples;
};

// Reads the data set at `path`; format as for OpenSource. Throws UserError.
DataSetInfo InspectDataSet(const std::string& path, const std::string& format);

// The text that `gfdata info` prints.
std::string FormatInfo(const DataSetInfo& info);

}  // namespace gf
