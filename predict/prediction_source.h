#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "models/net.h"

namespace gf {

// What to predict with. Paths are relative to the working folder; "" = not given.
struct PredictionOptions {
  // The folder of a checkpoint, of several or of a run (telemetry.run_dir), whose newest valid one
  // is taken; or a file of weights.
  std::string checkpoint;
  // Safetensors or x.caffemodel, in place of the checkpoint's.
  std::string weights;
  // A job: its net, the preparation of its images and, without the two above, its checkpoint.dir.
  std::string config;
  // A net's prototxt, in place of the checkpoint's or the job's.
  std::string net;
  // A prototxt with fields of DataConfig, in place of the checkpoint's or the job's.
  std::string preprocessing;
  // Values of --set, for the job of `config`.
  std::vector<std::string> overrides;
  // The same for the fields of the preparation, wherever it comes from: "crop_size=224".
  std::vector<std::string> preprocessing_overrides;
  bool without_weights = false;  // finds none
  bool bgr = false;              // x.caffemodel was trained on BGR images
  std::string device = "cpu";
  int threads = 0;          // that compute, and that decode; 0 = one per processor of this process
  int batch_size = 0;       // 0 = the preparation's batch_size, but at most most_images
  int64_t most_images = 0;  // how many there will be; 0 = any number
  // Gets remarks for people; may be null.
  std::function<void(const std::string&)> note;
};

// Where a net for predictions comes from.
struct PredictionSource {
  std::string weights;  // a file, or a folder with one
  NetSource net;
  NetOptions options;  // phase TEST; image_shape is the size that `data` determines, if it does
  // How images are prepared, without random parts. Without `prepared` only the batch size is known:
  // images are resized to the net's input, and pixels enter as they are.
  DataConfig data;
  bool prepared = false;
  std::vector<std::string> class_names;  // of the checkpoint, by number; may be empty
};

// Finds the weights, the net and the preparation that `options` name. Throws UserError if they name
// nothing, if a file is damaged, and for a checkpoint that does not hold its net.
PredictionSource FindPredictionSource(const PredictionOptions& options);

}  // namespace gf
