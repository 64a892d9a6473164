#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "data/prepare/resize_record.h"

namespace gf {

struct ImageNetOptions {
  // ILSVRC2012_img_train.tar, a tar with a tar of images per synset, and ILSVRC2012_img_val.tar, a
  // tar of images; one of them may be missing.
  std::string train, val;
  // The list that says which class the synsets are; empty: those of `train`, sorted.
  std::string synsets;
  // The classes of the validation images, see ReadValidationLabels.
  std::string val_labels, id_map;
  // The folder to write: "train-000000.tar" and "val-000000.tar" with index files, classes.txt.
  std::string out;
  int train_shards = 1024, val_shards = 128;
  // Images that get another size become JPEGs of this quality; Nothing() = images keep their bytes.
  ResizeTo resize;
  int quality = 92;
  uint64_t seed = 1;
  // Images that cannot be decoded are left out (resize only) instead of ending the work.
  bool skip_damaged = false;
  int workers = 0;  // 0 = one per processor
};

struct ImageNetProgress {
  int64_t shards_done = 0, shards = 0, images_done = 0, images = 0;
  // Of the images: left out as damaged; in shards that were there from an earlier run.
  int64_t damaged = 0, found = 0;
};

// Packs the official archives of ImageNet into shards. Which image lies where depends on the
// options alone, not on the number of workers: training images are shuffled, validation images keep
// their order, and shards of a set differ by at most one image. A shard appears under its name when
// it is complete; called again with the same options, the work goes on with those that are missing.
// `report` is called now and then, from any thread, one at a time. Throws UserError.
ImageNetProgress PackImageNet(const ImageNetOptions& options,
                              const std::function<void(const ImageNetProgress&)>& report);

}  // namespace gf
