#pragma once

#include <cstdint>
#include <string>

#include "core/config/job.pb.h"
#include "data/prepare/resize_record.h"

namespace gf {

struct ConvertOptions {
  // A data set (folder, file or glob) and its format, "AUTO" to tell it from what is there.
  std::string from, from_format = "AUTO";
  // The kind of its labels. Only TAR can be written with several labels per image.
  LabelConfig labels;
  // Where the paths of a list start; empty: at the list's folder.
  std::string root_folder;
  // The folder to make, and the format in it.
  std::string to, format = "TAR";
  int shards = 0;
  int quality = 0;  // of JPEGs; 0 = raw images become PNGs, resized ones JPEGs of 92
  // Images of other sizes become JPEGs, or PNGs if they have 16 bits; Nothing() = encoded images
  // keep their bytes.
  ResizeTo resize;
  bool grayscale = false;
  // Leave out damaged samples instead of giving up.
  bool skip_damaged = false;
  // Move what is at `to` aside.
  bool force = false;
};

struct ConvertResult {
  int64_t written = 0, skipped = 0;
  // Where the former contents of `to` are now, if any.
  std::string old;
};

// Copies a data set into another format. Without `resize` encoded images keep their bytes between
// tar and folder. The result appears when it is complete. Throws UserError naming the sample.
ConvertResult ConvertDataSet(const ConvertOptions& options);

}  // namespace gf
