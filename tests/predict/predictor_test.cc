#include "predict/predictor.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/folder.h"
#include "data/loader/loader.h"
#include "models/prediction_net.h"
#include "solvers/checkpoint/checkpoint.h"
#include "solvers/solver.h"
#include "tests/data/test_util.h"
#include "tests/predict/net_text.h"

namespace gf {
namespace {

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
    for (int64_t i = 0; i < loader.batches(); ++i) {
      net.Forward(loader.Next());
      const std::vector<float> all = net.Logits();
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

TEST_F(PredictorTest, ScoresEqualAnEvaluationsBitForBit) {
  const auto evaluated = Evaluated();
  ASSERT_EQ(evaluated.size(), 10u);
  Predictor predictor(Checkpoint());
  EXPECT_EQ(predictor.batch_size(), kBatch);
  EXPECT_EQ(predictor.class_name(2), "cat");
  EXPECT_EQ(predictor.class_name(3), "");
  std::vector<ImageInput> inputs;
  for (const auto& entry : evaluated) inputs.push_back(File(entry.first));
  const auto scores = Scores(&predictor, inputs);
  // Alone, an image stands at another place of the batch.
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(scores[i], evaluated.at(inputs[i].file)) << inputs[i].file;
    EXPECT_EQ(Scores(&predictor, {inputs[i]})[0], scores[i]) << inputs[i].file;
  }
  EXPECT_NE(scores[0], scores[1]);
}

TEST_F(PredictorTest, FilesBytesAndPixelsAreEqual) {
  Predictor predictor(Checkpoint());
  const ImageSize size = {24, 40};
  const std::vector<uint8_t> pixels = Gradient(size, 3);
  const std::string file = folder_ / "images/ant/0.png", bytes = ReadFile(file);
  ImageInput encoded, plain, padded;
  encoded.encoded = reinterpret_cast<const uint8_t*>(bytes.data());
  encoded.encoded_bytes = bytes.size();
  plain.pixels = pixels.data();
  plain.size = size;
  plain.channels = 3;
  plain.row_bytes = 3 * size.width;
  const int64_t stride = plain.row_bytes + 7;
  std::vector<uint8_t> rows(stride * size.height, 99);
  for (int y = 0; y < size.height; ++y) {
    std::copy_n(pixels.data() + y * plain.row_bytes, plain.row_bytes, rows.data() + y * stride);
  }
  padded = plain;
  padded.pixels = rows.data();
  padded.row_bytes = stride;
  const auto scores = Scores(&predictor, {File(file), encoded, plain, padded});
  for (const auto& each : scores) EXPECT_EQ(each, scores[0]);
}

// Pixels of 8 bits in memory enter nets of other channels and types, too.
TEST(ImageBatchTest, PixelsOfFiveChannelsAreNormalized) {
  DataConfig data;
  data.set_source("none");
  data.set_channels(5);
  data.set_pixel_type(DataConfig::UINT16);
  for (int c = 0; c < 5; ++c) data.add_mean(static_cast<float>(100 * c));
  data.add_std(0.5);
  const ImageSize size = {3, 4};
  ImageBatch batch(data, {2, 5, size.height, size.width});
  const std::vector<uint8_t> pixels = Gradient(size, 5);
  ImageInput input;
  input.pixels = pixels.data();
  input.size = size;
  input.channels = 5;
  input.row_bytes = 5 * size.width;
  batch.inputs()->push_back(input);
  input.channels = 4;
  input.row_bytes = 4 * size.width;
  batch.inputs()->push_back(input);
  batch.Prepare(1);
  EXPECT_EQ(batch.errors()[0], "");
  EXPECT_EQ(batch.errors()[1], "4 channels of UINT8, expected 5 of UINT16; set channels: 4");
  ASSERT_EQ(batch.batch().images.desc.dtype, DType::kFP32);
  const float* value = batch.batch().images.as<float>();
  for (int c = 0; c < 5; ++c) {
    for (int64_t p = 0; p < size.pixels(); ++p) {
      EXPECT_EQ(*value++, 2 * (257 * pixels[p * 5 + c] - 100.f * static_cast<float>(c)));
    }
  }
}

TEST_F(PredictorTest, DamagedImagesAreErrorsOfTheirOwn) {
  Predictor predictor(Checkpoint());
  const std::string good = folder_ / "images/ant/0.png";
  WriteFile(folder_ / "cut.png", ReadFile(good).substr(0, 60));
  WriteFile(folder_ / "text.jpg", "no image");
  WriteFile(folder_ / "narrow.png", FlatPng({2000, 1}, 7));
  std::vector<std::string> errors;
  const auto scores = Scores(&predictor,
                             {File(folder_ / "cut.png"), File(good), File(folder_ / "none.png"),
                              File(folder_ / "text.jpg"), File(folder_ / "narrow.png")},
                             &errors);
  const std::vector<bool> expected = {false, true, false, false, true};
  for (size_t i = 0; i < errors.size(); ++i) EXPECT_EQ(errors[i].empty(), expected[i]) << errors[i];
  EXPECT_EQ(scores[1], Scores(&predictor, {File(good)})[0]);
  EXPECT_NE(errors[2].find("none.png"), std::string::npos) << errors[2];
  EXPECT_TRUE(Scores(&predictor, {}).empty());
}

TEST_F(PredictorTest, AnOlderCheckpointNeedsItsNet) {
  TrainingState state = ReadState(checkpoint_);
  Net net(ParseNet(kNetText, "net"), Options(TRAIN), device_.get());
  net.InitParameters();
  const auto solver = NewSolver("solver", "SGD", SolverConfig(), net.parameters().get());
  RemoveAll(checkpoint_);
  MakeFolders(checkpoint_);
  EXPECT_EQ(state.prediction_files, nullptr);
  WriteCheckpointFiles(checkpoint_, state, *net.parameters(), *solver);
  PredictionOptions options = Checkpoint();
  const std::string error = Error(options);
  EXPECT_NE(error.find("has no net.prototxt"), std::string::npos) << error;
  EXPECT_NE(error.find("name the job (config) or its network (net)"), std::string::npos);
  options.net = folder_ / "net.prototxt";
  WriteFile(options.net, kNetText);
  Predictor predictor(options);
  const std::string file = folder_ / "images/ant/0.png";
  EXPECT_EQ(Scores(&predictor, {File(file)})[0], Evaluated().at(file));
}

TEST_F(PredictorTest, WeightsNeedANetAndResizeToItsInput) {
  PredictionOptions options;
  options.checkpoint = checkpoint_ + "/weights.safetensors";
  EXPECT_NE(Error(options).find("weights alone"), std::string::npos);
  options.net = checkpoint_ + "/net.prototxt";
  options.batch_size = 2;
  Predictor resizing(options);
  // As it is: no image is resized, no mean subtracted.
  WriteFile(folder_ / "small.png", FlatPng({16, 16}, 55));
  options.preprocessing = folder_ / "none.prototxt";
  WriteFile(options.preprocessing, "channels: 3\n");
  Predictor plain(options);
  EXPECT_EQ(resizing.batch_size(), 2);
  EXPECT_EQ(resizing.class_name(0), "");
  const ImageInput small = File(folder_ / "small.png");
  EXPECT_EQ(Scores(&resizing, {small}), Scores(&plain, {small}));
  std::vector<std::string> errors;
  const ImageInput large = File(folder_ / "images/ant/0.png");
  EXPECT_EQ(Scores(&resizing, {large}, &errors), Scores(&plain, {large}, &errors));
  EXPECT_EQ(errors, std::vector<std::string>({"", ""}));
  WriteFile(options.preprocessing, "channels: 3 resize_height: 24 resize_width: 40\n");
  EXPECT_NE(Error(options).find("24x40"), std::string::npos) << Error(options);
  WriteFile(options.preprocessing, "channels: 3 mirror: true\n");
  EXPECT_NE(Error(options).find("none.prototxt: mirror has no meaning for predictions"),
            std::string::npos);
}

TEST_F(PredictorTest, DamagedFilesOfACheckpointAreErrors) {
  for (const char* name : {"weights.safetensors", "net.prototxt", "state.json"}) {
    const std::string file = checkpoint_ + "/" + name, bytes = ReadFile(file);
    PredictionOptions options = Checkpoint();
    options.checkpoint = checkpoint_;
    WriteFile(file, bytes.substr(0, bytes.size() / 2));
    EXPECT_NE(Error(options).find(name), std::string::npos) << Error(options);
    std::string changed = bytes;
    changed[changed.size() / 2] ^= 1;
    WriteFile(file, changed);
    EXPECT_NE(Error(options).find(name), std::string::npos) << Error(options);
    RemoveAll(file);
    EXPECT_NE(Error(options).find(name), std::string::npos) << Error(options);
    WriteFile(file, bytes);
  }
  RemoveAll(checkpoint_ + "/optimizer.safetensors");  // predictions do without it
  Predictor whole(Checkpoint());
}

TEST_F(PredictorTest, MistakesAreNamed) {
  PredictionOptions options;
  EXPECT_NE(Error(options).find("nothing to predict with"), std::string::npos);
  options = Checkpoint();
  options.checkpoint = folder_ / "nowhere";
  EXPECT_NE(Error(options).find("nowhere is not a file or folder"), std::string::npos);
  options = Checkpoint();
  options.threads = -1;
  EXPECT_NE(Error(options).find("threads is -1"), std::string::npos);
  options = Checkpoint();
  options.batch_size = -1;
  EXPECT_NE(Error(options).find("preprocessing.batch_size is -1"), std::string::npos);
  options = Checkpoint();
  options.preprocessing = folder_ / "crop.prototxt";
  WriteFile(options.preprocessing, "crop_size: 15\n");
  EXPECT_NE(Error(options).find("3x15x15"), std::string::npos);
  options = Checkpoint();
  options.bgr = true;
  EXPECT_NE(Error(options).find("--bgr goes with a file x.caffemodel"), std::string::npos);
  Predictor predictor(Checkpoint());
  EXPECT_NE(ErrorOf([&] { predictor.SetClassNames({"a"}, "file"); }).find("file: 1 class name"),
            std::string::npos);
}

TEST(TopClassesTest, LowerClassesWinTies) {
  const float scores[] = {1, 3, -2, 3, 2};
  EXPECT_EQ(TopClasses(scores, 5, 3), (std::vector<int64_t>{1, 3, 4}));
  EXPECT_EQ(TopClasses(scores, 5, 9), (std::vector<int64_t>{1, 3, 4, 0, 2}));
}

}  // namespace
}  // namespace gf
