#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/folder.h"
#include "data/loader/loader.h"
#include "models/prediction_net.h"
#include "predict/predictor.h"
#include "solvers/checkpoint/checkpoint.h"
#include "solvers/solver.h"
#include "tests/data/test_util.h"
#include "tests/predict/net_text.h"

namespace gf {

constexpr int kBatch = 4;

// A checkpoint of random weights, and images of several sizes in two class folders, whose number no
// batch divides.
class PredictorTest : public testing::Test {
 protected:
  PredictorTest()
      : device_(DeviceRegistry::Get().Create("device", "cpu", omp_get_max_threads())),
        checkpoint_(folder_ / "run/step-00000002") {
    DataConfig* const data = job_.mutable_validation_data();
    data->set_source(folder_ / "images");
    data->set_batch_size(kBatch);
    data->set_resize_shorter(20);
    data->set_crop_size(16);
    data->add_mean(120);
    data->add_std(60);
    *job_.mutable_train_data() = *data;
    for (int i = 0; i < 10; ++i) {
      const ImageSize size = {24 + 3 * i, 40 - 2 * i};
      const std::string name = StrCat("images/", i % 2 == 0 ? "ant" : "bee", "/", i, ".png");
      WriteFile(folder_ / name, ToText(EncodePng(Gradient(size, 3, 17 * i).data(), size, 3)));
    }
    WriteCheckpoint();
  }

  NetOptions Options(Phase phase) const {
    NetOptions options;
    options.phase = phase;
    options.batch_size = kBatch;
    return options;
  }

  void WriteCheckpoint() {
    const NetSource source = ParseNet(kNetText, "net");
    Net net(source, Options(TRAIN), device_.get());
    net.InitParameters();
    const auto solver = NewSolver("solver", "SGD", SolverConfig(), net.parameters().get());
    TrainingState state;
    state.step = 2;
    state.updates = 2;
    state.position = 20;
    state.epoch = 0.5;
    state.solver = "SGD";
    state.net = "net";
    state.config = job_.DebugString();
    state.class_names = {"ant", "bee", "cat"};
    using Files = std::map<std::string, std::string>;
    state.prediction_files = std::make_shared<Files>(
        Files{{kNetFile, PredictionNet(source, {3, 16, 16}).DebugString()}});
    MakeFolders(checkpoint_);
    WriteCheckpointFiles(checkpoint_, state, *net.parameters(), *solver);
  }

  PredictionOptions Checkpoint() const {
    PredictionOptions options;
    options.checkpoint = folder_ / "run";
    options.threads = omp_get_max_threads();
    return options;
  }

  // The scores of each file as an evaluation computes them.
  std::map<std::string, std::vector<float>> Evaluated() const {
    LoaderOptions options;
    options.mode = LoaderOptions::kEvaluate;
    Loader loader(job_.validation_data(), options);
    Net net(ParseNet(kNetText, "net"), Options(TEST), device_.get());
    LoadCheckpoint(checkpoint_, "", net.parameters().get(), nullptr);
    std::map<std::string, std::vector<float>> scores;
    const OutputAverage average = {loader.test_flips(), loader.test_shifts()};
    for (int64_t i = 0; i < loader.batches(); ++i) {
      const std::vector<float> all = AveragedOutputs(loader.Next(), average, &net);
      for (size_t k = 0; k < loader.samples().size(); ++k) {
        const auto begin = all.begin() + static_cast<int64_t>(k) * net.classes();
        scores[loader.Where(loader.samples()[k])] = {begin, begin + net.classes()};
      }
    }
    return scores;
  }

  // The scores of inputs; of one that failed none, and its error in `errors`.
  static std::vector<std::vector<float>> Scores(Predictor* predictor,
                                                const std::vector<ImageInput>& inputs,
                                                std::vector<std::string>* errors = nullptr) {
    std::vector<std::vector<float>> scores;
    size_t next = 0;
    predictor->Predict(
        [&](ImageInput* input) {
          if (next == inputs.size()) return false;
          *input = inputs[next++];
          return true;
        },
        [&](const ImageInput&, const Prediction& result) {
          scores.emplace_back();
          if (errors != nullptr) errors->push_back(result.error);
          if (!result.error.empty()) return;
          scores.back().assign(result.scores, result.scores + predictor->classes());
          double sum = 0, exponents = 0;
          for (int64_t c = 0; c < predictor->classes(); ++c) {
            sum += result.probabilities[c];
            exponents += std::exp(double{result.scores[c]});
          }
          EXPECT_NEAR(sum, 1, 1e-6);
          EXPECT_NEAR(result.probabilities[0], std::exp(double{result.scores[0]}) / exponents,
                      1e-6);
        });
    return scores;
  }

  static ImageInput File(const std::string& path) {
    ImageInput input;
    input.file = path;
    return input;
  }

  std::string Error(const PredictionOptions& options) const {
    return ErrorOf([&] { Predictor predictor(options); });
  }

  TempFolder folder_;
  std::unique_ptr<Device> device_;
  const std::string checkpoint_;
  JobConfig job_;
};

}  // namespace gf
