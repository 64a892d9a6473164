#include "predict/prediction_source.h"

#include <gtest/gtest.h>

#include "core/config/job_checks.h"
#include "core/config/places.h"
#include "predict/checkpoint_job.h"
#include "tests/predict/predictor_fixture.h"

namespace gf {
namespace {

using PredictionSourceTest = PredictorTest;

TEST_F(PredictionSourceTest, AnOlderCheckpointNeedsItsNet) {
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

TEST_F(PredictionSourceTest, WeightsNeedANetAndResizeToItsInput) {
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

TEST_F(PredictionSourceTest, DamagedFilesOfACheckpointAreErrors) {
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

TEST_F(PredictionSourceTest, TheJobOfACheckpointEvaluatesItsOwnNet) {
  const JobConfig job = EvaluationJob(checkpoint_);
  EXPECT_EQ(job.net(), checkpoint_ + "/net.prototxt");
  EXPECT_EQ(job.validation_data().DebugString(), job_.validation_data().DebugString());
  // Without data for validation: the images of training, without the random parts and the source.
  DataConfig* const data = job_.mutable_train_data();
  data->clear_resize_shorter();
  data->set_random_resized_crop(true);
  data->set_mirror(true);
  job_.clear_validation_data();
  job_.mutable_input()->set_height(99);
  job_.set_classes(99);
  RemoveAll(checkpoint_);
  WriteCheckpoint();
  const JobConfig trained = EvaluationJob(checkpoint_);
  const DataConfig& images = trained.validation_data();
  EXPECT_EQ(images.source(), "");
  EXPECT_EQ(images.batch_size(), kBatch);
  EXPECT_EQ(images.resize_shorter(), 16);
  EXPECT_EQ(images.crop_size(), 16);
  EXPECT_EQ(images.mean(0), 120);
  EXPECT_FALSE(images.random_resized_crop() || images.mirror());
  // net.prototxt has these changes already.
  EXPECT_FALSE(trained.has_input());
  EXPECT_EQ(trained.classes(), 0);
}

TEST_F(PredictionSourceTest, TheJobOfACheckpointKnowsTheNumberOfValues) {
  for (const bool validates : {true, false}) {
    job_.mutable_train_data()->mutable_labels()->set_type(LabelConfig::VALUES);
    job_.mutable_validation_data()->mutable_labels()->set_type(LabelConfig::VALUES);
    if (!validates) job_.clear_validation_data();
    job_.set_classes(3);
    RemoveAll(checkpoint_);
    WriteCheckpoint();
    const JobConfig job = EvaluationJob(checkpoint_);
    EXPECT_EQ(job.classes(), 0);
    EXPECT_EQ(job.validation_data().labels().count(), 3);
    EXPECT_NO_THROW(CheckLabels(job, Places()));
  }
}

TEST_F(PredictionSourceTest, SetChangesThePreparation) {
  // As the same fields of a file, with the rest of the checkpoint's.
  PredictionOptions file = Checkpoint(), set = Checkpoint();
  file.preprocessing = folder_ / "other.prototxt";
  WriteFile(file.preprocessing,
            "batch_size: 4 resize_shorter: 30 crop_size: 16 mean: [1, 2, 3] std: 60\n");
  set.preprocessing_overrides = {"resize_shorter=30", "mean=1,2,3"};
  Predictor by_file(file), by_set(set), before(Checkpoint());
  const std::vector<ImageInput> image = {File(folder_ / "images/ant/0.png")};
  EXPECT_EQ(Scores(&by_set, image), Scores(&by_file, image));
  EXPECT_NE(Scores(&by_set, image), Scores(&before, image));
  // Without a job they are a preparation of their own; a batch size alone is none.
  PredictionOptions weights;
  weights.checkpoint = checkpoint_ + "/weights.safetensors";
  weights.net = checkpoint_ + "/net.prototxt";
  EXPECT_FALSE(FindPredictionSource(weights).prepared);
  weights.preprocessing_overrides = {"batch_size=3"};
  EXPECT_FALSE(FindPredictionSource(weights).prepared);
  weights.preprocessing_overrides.emplace_back("mean=120");
  const PredictionSource source = FindPredictionSource(weights);
  EXPECT_TRUE(source.prepared);
  EXPECT_EQ(source.data.batch_size(), 3);
  EXPECT_EQ(source.data.mean(0), 120);

  set.preprocessing_overrides = {"mirror=true"};
  EXPECT_NE(Error(set).find("--set mirror=true: mirror has no meaning for predictions"),
            std::string::npos);
  set.preprocessing_overrides = {"labels.file=tags.csv"};
  EXPECT_NE(Error(set).find("--set labels.file=tags.csv: labels.file has no meaning"),
            std::string::npos);
  set.preprocessing_overrides = {"crop_sise=16"};
  EXPECT_NE(Error(set).find("did you mean \"crop_size\""), std::string::npos) << Error(set);
  set.preprocessing_overrides = {"crop_size=99"};
  EXPECT_NE(
      Error(set).find("--set crop_size=99: preprocessing.crop_size is 99, must be at most 20"),
      std::string::npos)
      << Error(set);
}

TEST_F(PredictionSourceTest, ANetThatClassifiesPlacesIsRefusedAtOnce) {
  PredictionOptions options = Checkpoint();
  options.batch_size = 2;
  options.net = folder_ / "places.prototxt";
  WriteFile(options.net, R"(
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [1, 3, 16, 16] } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 8 kernel_size: 3 stride: 2 } }
layer { name: "prob" type: "Softmax" bottom: "conv" top: "prob" }
)");
  const std::string error = Error(options);
  EXPECT_NE(error.find("places.prototxt: the network gives scores of 2x8x7x7 for 2 images and 8 "
                       "classes, expected 2x8: it does not classify whole images"),
            std::string::npos)
      << error;
}

TEST_F(PredictionSourceTest, MistakesAreNamed) {
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

}  // namespace
}  // namespace gf
