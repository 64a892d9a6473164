#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "models/net.h"
#include "predict/image_batch.h"
#include "predict/prediction_source.h"
#include "solvers/evaluate/averaged_outputs.h"

namespace gf {

// The result of one image.
struct Prediction {
  std::string error;  // why there is none; "" = there is one
  // One per class: the net's scores, and their softmax, or for labels of type CLASSES the sigmoid
  // of each, which is computed in FP64 and rounded to FP32. VALUES: twice the net's outputs. Null
  // with an error; valid during the call that hands them out.
  const float* scores = nullptr;
  const float* probabilities = nullptr;
};

// Says which classes images show, or which values they have. Scores equal an evaluation's bit for
// bit at the same batch size and number of threads. Only one thread at a time may call it.
class Predictor {
 public:
  // Reads net and weights. Throws UserError, also for a net that does not give a score per image
  // and class.
  explicit Predictor(const PredictionOptions& options);
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  // The kind of the net's outputs.
  LabelConfig::Type labels() const { return labels_; }
  // Classes, or values.
  int64_t classes() const { return net_->classes(); }
  int64_t batch_size() const { return net_->input_shape()[0]; }
  // What it predicts with, for people.
  const std::string& weights() const { return weights_; }

  // The name of class or value i; "" where none is known.
  const std::string& class_name(int64_t i) const;
  // Replaces the checkpoint's names. Throws UserError unless there is one per class; `origin` names
  // them in the message.
  void SetClassNames(std::vector<std::string> names, const std::string& origin);

  // Fills the next image; false = there is none.
  using NextImage = std::function<bool(ImageInput*)>;
  // Gets the results in the images' order.
  using TakeResult = std::function<void(const ImageInput&, const Prediction&)>;
  // Predicts all images, a batch at a time. The next batch is read and decoded while the net runs.
  void Predict(const NextImage& next, const TakeResult& take);

 private:
  void CheckClassifiesImages(const NetSource& source) const;
  void FitDataToNet(PredictionSource* source) const;
  void Run(const ImageBatch& images, const TakeResult& take);

  const int threads_;
  LabelConfig::Type labels_ = LabelConfig::CLASS;
  std::string weights_;
  std::vector<std::string> class_names_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Net> net_;
  OutputAverage average_;
  std::unique_ptr<ImageBatch> batches_[2];
};

// The numbers of the `most` classes with the highest of `classes` scores, highest first; of equal
// scores the lowest class.
std::vector<int64_t> TopClasses(const float* scores, int64_t classes, int64_t most);

}  // namespace gf
