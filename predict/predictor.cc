#include "predict/predictor.h"

#include <glog/logging.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <numeric>
#include <utility>

#include "core/config/job_checks.h"
#include "core/error.h"
#include "core/readable.h"
#include "data/loader/normalization.h"
#include "data/loader/workers.h"
#include "models/class_losses.h"
#include "models/parameter_store.h"
#include "solvers/checkpoint/weights_file.h"

namespace gf {
namespace {

constexpr int kMostThreads = 1024;

int ThreadsOf(const PredictionOptions& options) {
  if (options.threads < 0 || options.threads > kMostThreads) {
    ThrowUserError("threads is ", options.threads, ", must be 0 to ", kMostThreads);
  }
  return options.threads > 0 ? options.threads : AvailableProcessors();
}

// OpenMP's number of threads belongs to the calling thread: it is restored afterwards.
class ComputeThreads {
 public:
  explicit ComputeThreads(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ComputeThreads() { omp_set_num_threads(before_); }
  ComputeThreads(const ComputeThreads&) = delete;
  ComputeThreads& operator=(const ComputeThreads&) = delete;

 private:
  const int before_;
};

void Resize(ImageSize size, DataConfig* data) {
  data->set_resize_height(size.height);
  data->set_resize_width(size.width);
}

// The softmax of an image's scores; false if they are not numbers.
bool ToProbabilities(const float* scores, int64_t classes, float* probabilities) {
  const double most = *std::max_element(scores, scores + classes);
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(scores[c] - most);
  if (!std::isfinite(sum)) return false;
  for (int64_t c = 0; c < classes; ++c) {
    probabilities[c] = static_cast<float>(std::exp(scores[c] - most) / sum);
  }
  return true;
}

// Computes Prediction::probabilities; false if they would not be numbers.
bool ToResults(LabelConfig::Type labels, const float* scores, int64_t classes, float* results) {
  if (labels == LabelConfig::CLASS) return ToProbabilities(scores, classes, results);
  for (int64_t c = 0; c < classes; ++c) {
    const double score = scores[c];
    const bool value = labels == LabelConfig::VALUES;
    results[c] = value ? scores[c] : static_cast<float>(1 / (1 + std::exp(-score)));
    if (!std::isfinite(results[c])) return false;
  }
  return true;
}

}  // namespace

Predictor::Predictor(const PredictionOptions& options) : threads_(ThreadsOf(options)) {
  const auto note = [&](const std::string& text) {
    if (options.note) options.note(text);
  };
  const ComputeThreads guard(threads_);
  PredictionSource source = FindPredictionSource(options);
  device_ = DeviceRegistry::Get().Create("device", options.device, threads_);
  if (!device_->Supports(source.options.compute)) {
    note(StrCat("this device does not compute in ", Name(source.options.compute),
                ", in which the network was trained: FP32 is used"));
    source.options.compute = DType::kFP32;
  }
  net_ = std::make_unique<Net>(source.net, source.options, device_.get());
  if (source.options.labels) labels_ = source.options.labels->type();
  if (net_->classes() == 0) {
    ThrowUserError(source.net.file, ": the net has no ", ReadersOfOutputs(labels_),
                   " in phase TEST: there is nothing to predict; add a Softmax layer at its end");
  }
  CheckClassifiesImages(source.net);
  if (!source.prepared) {
    note(
        "nothing says how images are prepared: they are resized to the network's input, and pixels "
        "from 0 to 255 enter as they are; name a preprocessing or a config unless this is meant");
  }
  FitDataToNet(&source);
  const Shape& input = net_->input_shape();
  CheckTestShifts(source.data, {static_cast<int>(input[2]), static_cast<int>(input[3])});
  average_ = {source.data.test_flips(), source.data.test_shifts()};
  weights_ = source.weights;
  LoadWeightsFile(weights_, {/*complete=*/true, options.bgr}, net_->parameters().get(), note);
  class_names_ = std::move(source.class_names);
  for (auto& batch : batches_) {
    batch = std::make_unique<ImageBatch>(source.data, net_->input_shape());
  }
}

void Predictor::CheckClassifiesImages(const NetSource& source) const {
  const Shape scores = net_->scores_shape();
  const int64_t images = batch_size();
  if (scores[0] == images && scores.count() == images * classes()) return;
  ThrowUserError(source.file, ": the network gives scores of ", scores.ToString(), " for ",
                 Counted(images, "image"), " and ", Counted(classes(), "class", "classes"),
                 ", expected ", Shape({images, classes()}).ToString(),
                 ": it does not classify whole images");
}

// Where nothing says how images are prepared, the net's input does; otherwise both must agree.
void Predictor::FitDataToNet(PredictionSource* source) const {
  const Shape& input = net_->input_shape();
  DataConfig* const data = &source->data;
  if (!source->prepared) {
    if (input[1] > kMaxChannels) {
      ThrowUserError(source->net.file, ": the net takes images of ", input[1],
                     " channels, expected 1 (gray), 3 (RGB) or another number up to ",
                     kMaxChannels);
    }
    data->set_channels(static_cast<int>(input[1]));
    if (input[2] > kMaxSide || input[3] > kMaxSide) {
      ThrowUserError(source->net.file, ": the net takes images of ", input.ToString(),
                     " (N x C x H x W), expected sides of at most ", kMaxSide);
    }
    Resize({static_cast<int>(input[2]), static_cast<int>(input[3])}, data);
    CheckData(*data, /*training=*/false, "preprocessing");
    return;
  }
  if (input[1] != data->channels()) {
    ThrowUserError(source->net.file, ": the net takes images of ", Counted(input[1], "channel"),
                   ", but the preprocessing makes ", data->channels(),
                   ": set channels in the preprocessing");
  }
  // The images of the job had the right size already; others get it.
  if (data->resize_height() > 0 || data->resize_shorter() > 0 || data->pad() > 0) return;
  if (!data->mean_file().empty()) {
    Resize(Normalization(*data, /*random=*/false).size(), data);
  } else if (data->crop_size() == 0) {
    Resize({static_cast<int>(input[2]), static_cast<int>(input[3])}, data);
  }
}

const std::string& Predictor::class_name(int64_t i) const {
  static const std::string* const none = new std::string;
  return i >= 0 && i < static_cast<int64_t>(class_names_.size()) ? class_names_[i] : *none;
}

void Predictor::SetClassNames(std::vector<std::string> names, const std::string& origin) {
  const auto count = static_cast<int64_t>(names.size());
  if (count != classes()) {
    ThrowUserError(origin, ": ", Counted(count, "class name"), ", expected ", classes(),
                   ", one for each output of the network, in their order");
  }
  class_names_ = std::move(names);
}

void Predictor::Predict(const NextImage& next, const TakeResult& take) {
  const ComputeThreads guard(threads_);
  bool more = true;
  const auto collect = [&](ImageBatch* batch) {
    std::vector<ImageInput>* const inputs = batch->inputs();
    inputs->clear();
    while (more && static_cast<int64_t>(inputs->size()) < batch_size()) {
      ImageInput input;
      more = next(&input);
      if (more) inputs->push_back(std::move(input));
    }
    return !inputs->empty();
  };
  ImageBatch* now = batches_[0].get();
  ImageBatch* ahead = batches_[1].get();
  if (!collect(now)) return;
  now->Prepare(threads_);
  for (bool goes_on = true; goes_on;) {
    goes_on = collect(ahead);
    std::future<void> preparing;
    if (goes_on) {
      preparing = std::async(std::launch::async, [ahead, this] { ahead->Prepare(threads_); });
    }
    Run(*now, take);
    if (goes_on) preparing.get();
    std::swap(now, ahead);
  }
}

void Predictor::Run(const ImageBatch& images, const TakeResult& take) {
  const std::vector<std::string>& errors = images.errors();
  const int64_t count = classes();
  std::vector<float> scores, probabilities(count);
  if (std::any_of(errors.begin(), errors.end(), [](const auto& error) { return error.empty(); })) {
    scores = AveragedOutputs(images.batch(), average_, net_.get());
    CHECK_EQ(static_cast<int64_t>(scores.size()), batch_size() * count);
  }
  for (size_t i = 0; i < errors.size(); ++i) {
    Prediction result;
    result.error = errors[i];
    if (result.error.empty()) {
      const float* const row = scores.data() + static_cast<int64_t>(i) * count;
      if (ToResults(labels_, row, count, probabilities.data())) {
        result.scores = row;
        result.probabilities = probabilities.data();
      } else {
        result.error =
            "the network's scores are not numbers: its weights or the preprocessing "
            "are wrong, or its compute_type is too narrow";
      }
    }
    take(images.inputs()[i], result);
  }
}

std::vector<int64_t> TopClasses(const float* scores, int64_t classes, int64_t most) {
  std::vector<int64_t> order(classes);
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto end = order.begin() + std::min(most, classes);
  std::partial_sort(order.begin(), end, order.end(), [&](int64_t a, int64_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  order.erase(end, order.end());
  return order;
}

}  // namespace gf
