#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/formats/record_source.h"
#include "data/image/image.h"
#include "data/prepare/pixel_sums.h"

namespace gf {

// How many samples are done of how many. Called from any thread, one call at a time.
using SampleProgress = std::function<void(int64_t done, int64_t all)>;

// What decoding every image of a data set shows.
struct Verification {
  std::string description;
  int64_t images = 0;
  // Left out when the data set was opened: damaged shards, images without label.
  int64_t left_out = 0;
  // Images that cannot be decoded, as "shard:key:offset: what", in order.
  std::vector<std::string> damaged;
  // How many images have what oddity; they are decoded all the same.
  std::map<std::string, int64_t> oddities;
};

// workers: 0 = one per processor. labels, root_folder: as for OpenSource. Throws UserError if the
// data set cannot be opened.
Verification VerifyDataSet(const std::string& path, const std::string& format, int workers,
                           const SampleProgress& progress,
                           const LabelConfig& labels = LabelConfig(),
                           const std::string& root_folder = "");

// Figures over all pixels of a data set, every image counting alike.
struct DataSetStatistics {
  std::string description;
  int64_t images = 0, damaged = 0;
  // The first few that cannot be decoded, as "shard:key:offset: what".
  std::vector<std::string> damaged_examples;
  // As which the images were measured: RGB of UINT8, or the format that all of them have.
  PixelFormat format;
  std::vector<double> mean, std;  // of each channel, in units of the format's type
  double mean_bytes = 0, mean_pixels = 0;
  // How many images have a shorter side of less than so many pixels, and not less than the one
  // before; the last has no limit.
  struct Bucket {
    int limit = 0;
    int64_t images = 0;
  };
  std::vector<Bucket> shorter_sides;
};

// Damaged images are left out and counted. `pixel_sums`, if not null, receives the other images.
// Throws UserError if the data set cannot be opened, all its images are damaged, or images that are
// to be added up differ in size; and if images differ in format, unless all have 1 or 3 channels of
// UINT8.
DataSetStatistics MeasureDataSet(const std::string& path, const std::string& format, int workers,
                                 const SampleProgress& progress, PixelSums* pixel_sums = nullptr,
                                 const LabelConfig& labels = LabelConfig(),
                                 const std::string& root_folder = "");

}  // namespace gf
