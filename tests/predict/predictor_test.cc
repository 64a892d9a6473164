#include "predict/predictor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/predict/predictor_fixture.h"

namespace gf {
namespace {

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

TEST_F(PredictorTest, ScoresAreAveragedAsInTheEvaluationOfTheJob) {
  const auto plain = Evaluated();
  job_.mutable_validation_data()->set_test_flips(true);
  job_.mutable_validation_data()->set_test_shifts(2);
  WriteCheckpoint();
  const auto averaged = Evaluated();
  const std::string file = averaged.begin()->first;
  EXPECT_NE(averaged.at(file), plain.at(file));
  Predictor predictor(Checkpoint());
  EXPECT_EQ(Scores(&predictor, {File(file)})[0], averaged.at(file));

  PredictionOptions options = Checkpoint();
  options.preprocessing_overrides = {"test_flips=false", "test_shifts=0"};
  Predictor without(options);
  EXPECT_EQ(Scores(&without, {File(file)})[0], plain.at(file));
  options.preprocessing_overrides = {"crop_size=0", "resize_shorter=0", "test_shifts=16"};
  EXPECT_NE(Error(options).find("test_shifts: 16, but the net takes images of 16x16"),
            std::string::npos);
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

TEST(TopClassesTest, LowerClassesWinTies) {
  const float scores[] = {1, 3, -2, 3, 2};
  EXPECT_EQ(TopClasses(scores, 5, 3), (std::vector<int64_t>{1, 3, 4}));
  EXPECT_EQ(TopClasses(scores, 5, 9), (std::vector<int64_t>{1, 3, 4, 0, 2}));
}

}  // namespace
}  // namespace gf
