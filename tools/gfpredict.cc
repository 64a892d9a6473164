// Predicts the classes of images: gfpredict --help.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/readable.h"
#include "predict/image_list.h"
#include "predict/prediction_writer.h"
#include "predict/predictor.h"
#include "tools/flags.h"

DEFINE_string(checkpoint, "",
              "a checkpoint's folder, a folder of several, or a run's folder (the newest valid "
              "checkpoint is taken): `PATH`; a safetensors file needs --net or --config");
DEFINE_string(weights, "",
              "the weights of a `FILE` instead of the checkpoint's: safetensors, or a Caffe model "
              "(x.caffemodel)");
DEFINE_bool(bgr, false,
            "with --weights=x.caffemodel: it was trained on BGR images, as Caffe reads JPEGs");
DEFINE_string(net, "", "the network of a prototxt `FILE` instead of the checkpoint's");
DEFINE_string(config, "",
              "a job: a prototxt `FILE`; its net and validation_data replace the checkpoint's");
DEFINE_string(preprocessing, "",
              "how images are prepared: a prototxt `FILE` with fields of validation_data, such as "
              "resize_shorter, crop_size, mean and std");
DEFINE_string(labels, "", "names of the classes: a `FILE` with one per line");
DEFINE_string(device, "cpu", "`cpu` or cuda");
DEFINE_int32(threads, 0, "compute threads, and as many that decode; 0: one per processor");
DEFINE_int32(
    batch_size, 0,
    "images per batch; 0: as in the validation of the job, but not more than the files named");
DEFINE_int32(top, 5,
             "print the `K` most likely classes of each image; where an image may have several "
             "classes, without this flag only the classes of more than 50 %");
DEFINE_string(format, "text", "`text`, csv or json (an object per line)");
DEFINE_bool(verbose, false, "say what is used, and how fast, on standard error");

namespace gf {
namespace {

constexpr char kNotes[] =
    R"(A FOLDER stands for the images (.jpg, .png, .gif, .tif and others) in it and below it; - reads
names of files from standard input, one per line. An image that cannot be read gets an entry with
the error, the others are predicted, and the exit code is 2.
)";

FlagSpec Spec() {
  FlagSpec spec;
  spec.summary = "gfpredict: predicts the classes of images, or their values.";
  spec.usage = {"gfpredict --checkpoint=PATH [FLAGS] IMAGE|FOLDER|-..."};
  spec.examples = {"gfpredict --checkpoint=runs/quickstart image.png folder",
                   "gfpredict --weights=x.caffemodel --bgr --net=deploy.prototxt image.jpg",
                   "gfpredict --checkpoint=DIR --set resize_shorter=288 folder",
                   "find . -name '*.jpg' | gfpredict --checkpoint=DIR --format=csv -"};
  spec.groups = {
      {"Network",
       {"checkpoint", "weights", "bgr", "net", "config", "preprocessing", "set", "labels"}},
      {"Results", {"top", "format", "verbose"}},
      {"Computation", {"device", "threads", "batch_size"}}};
  spec.overridden = "the preprocessing";
  spec.notes = kNotes;
  return spec;
}

void CheckFlags(const std::vector<std::string>& words) {
  if (words.empty()) {
    ThrowUserError("no images are named: add files, folders, or - for names on standard input");
  }
  if (FLAGS_top < 1) ThrowUserError("--top is ", FLAGS_top, ", must be at least 1");
  if (FLAGS_bgr && FLAGS_weights.empty() && FLAGS_checkpoint.empty()) {
    ThrowUserError("--bgr goes with --weights");
  }
}

PredictionOptions OptionsOfFlags(const std::vector<std::string>& words,
                                 const std::vector<std::string>& overrides) {
  PredictionOptions options;
  const bool all_files = std::none_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "-" || IsFolder(word);
  });
  if (all_files) options.most_images = static_cast<int64_t>(words.size());
  options.checkpoint = FLAGS_checkpoint;
  options.weights = FLAGS_weights;
  options.bgr = FLAGS_bgr;
  options.net = FLAGS_net;
  options.config = FLAGS_config;
  options.preprocessing = FLAGS_preprocessing;
  options.preprocessing_overrides = overrides;
  options.device = FLAGS_device;
  options.threads = FLAGS_threads;
  options.batch_size = FLAGS_batch_size;
  options.note = [](const std::string& text) { PrintWarning(text); };
  return options;
}

std::vector<std::string> ReadLabels(const std::string& file) {
  constexpr int64_t kMostBytes = 16 << 20;
  std::vector<std::string> labels;
  std::istringstream lines(ReadFileOrPipe(file, kMostBytes));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    labels.push_back(line);
  }
  return labels;
}

// How many classes or values of an image are printed at most.
int64_t MostGuesses(const Predictor& predictor) {
  if (predictor.labels() == LabelConfig::VALUES) return predictor.classes();
  return std::min<int64_t>(FLAGS_top, predictor.classes());
}

// The numbers of the classes or values to print.
std::vector<int64_t> Guessed(const Predictor& predictor, const Prediction& result) {
  const int64_t most = MostGuesses(predictor);
  if (predictor.labels() == LabelConfig::VALUES) {
    std::vector<int64_t> all(most);
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }
  std::vector<int64_t> top = TopClasses(result.scores, predictor.classes(), most);
  const bool likely_only = predictor.labels() == LabelConfig::CLASSES &&
                           gflags::GetCommandLineFlagInfoOrDie("top").is_default;
  if (likely_only) {
    top.erase(std::find_if(top.begin(), top.end(),
                           [&](int64_t i) { return !(result.probabilities[i] > 0.5f); }),
              top.end());
  }
  return top;
}

PredictionEntry EntryOf(const Predictor& predictor, const ImageInput& image,
                        const Prediction& result) {
  PredictionEntry entry;
  entry.file = image.file;
  entry.error = result.error;
  if (!entry.error.empty()) return entry;
  for (const int64_t i : Guessed(predictor, result)) {
    const std::string& name = predictor.class_name(i);
    entry.guesses.push_back({i, name.empty() ? std::to_string(i) : name, result.probabilities[i]});
  }
  return entry;
}

int Main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  std::vector<std::string> words, overrides;
  FlagSpec spec = Spec();
  spec.overrides = &overrides;
  spec.words = &words;
  const int answered = ParseFlags(argc, argv, spec);
  if (answered >= 0) return answered;
  CheckFlags(words);
  const PredictionFormat format = ParsePredictionFormat(FLAGS_format);
  Predictor predictor(OptionsOfFlags(words, overrides));
  if (!FLAGS_labels.empty()) {
    predictor.SetClassNames(ReadLabels(FLAGS_labels), "--labels=" + FLAGS_labels);
  }
  if (FLAGS_verbose) {
    PrintRemark(StrCat("weights of ", predictor.weights(), ", ",
                       predictor.labels() == LabelConfig::VALUES
                           ? Counted(predictor.classes(), "value")
                           : Counted(predictor.classes(), "class", "classes"),
                       ", batches of ", Counted(predictor.batch_size(), "image")));
  }
  ImageList images(words, &std::cin);
  const bool values = predictor.labels() == LabelConfig::VALUES;
  PredictionWriter writer(format, MostGuesses(predictor), stdout, values);
  int64_t count = 0, failed = 0;
  const auto start = std::chrono::steady_clock::now();
  // A program that writes names waits for their results.
  const bool pipe = std::find(words.begin(), words.end(), "-") != words.end();
  predictor.Predict([&](ImageInput* image) { return images.Next(&image->file, &image->error); },
                    [&](const ImageInput& image, const Prediction& result) {
                      writer.Write(EntryOf(predictor, image, result));
                      if (pipe) std::fflush(stdout);
                      ++count;
                      if (!result.error.empty()) ++failed;
                    });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (FLAGS_verbose) {
    PrintRemark(StrCat(Counted(count, "image"), " in ", HumanSeconds(seconds), ", ",
                       seconds > 0 ? static_cast<double>(count) / seconds : 0, " images/s"));
  }
  if (failed > 0) {
    ThrowUserError(WithCommas(failed), " of ", Counted(count, "image"),
                   " could not be predicted: see the ", failed == 1 ? "entry" : "entries",
                   " with an error");
  }
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }
