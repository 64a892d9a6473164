#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/device.h"
#include "data/loader/loader.h"
#include "models/net.h"

namespace gf {

// A data set and the net that runs on it.
struct DataAndNet {
  std::unique_ptr<Loader> loader;
  std::unique_ptr<Net> net;
};

struct BuildOptions {
  // Of both nets of a job; the net for evaluation leaves out what is for training only.
  NetOptions net;
  int rank = 0, world = 1;
  // Compute threads of this rank; as many decode where the config leaves it open.
  int threads = 1;
  // Names of the classes that the parameters know, by number: the data's are matched with them by
  // name. None = labels are these numbers.
  std::vector<std::string> class_names;
  // Whether rank 0 warns of data and nets that are probably not meant for each other.
  bool warns = true;
  // How many of the net's classes have training images; 0 = all. With labels of type CLASSES: how
  // many there are, unless labels.count says it.
  int64_t trained_classes = 0;
};

// Opens a data set and builds the net of `phase` for its images. `parameters`: the parameters of
// the job's other net, or null. Labels that the net cannot tell apart, and classes that it was not
// trained on, are a UserError that names a sample; classes that have no training data are a
// warning. With several labels per image, the net must have an output for each of their numbers.
DataAndNet BuildDataAndNet(const DataConfig& data, const NetSource& source, Phase phase,
                           const BuildOptions& options, std::shared_ptr<ParameterStore> parameters,
                           Device* device);

// Throws UserError unless the net of training, built for other images of the same data set, can
// take the images of `data`, whose crop_size is set.
void CheckNetTakes(const DataConfig& data, const NetSource& source, const BuildOptions& options,
                   const DataAndNet& built, Device* device);

}  // namespace gf
