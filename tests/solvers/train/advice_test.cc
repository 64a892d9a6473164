#include "solvers/train/advice.h"

#include <gtest/gtest.h>

#include <string>

namespace gf {
namespace {

constexpr char kNet[] =
    "layer { name: 'data' type: 'Data' top: 'data' top: 'label' include { phase: TRAIN }\n"
    "  transform_param { mirror: true crop_size: 227 mean_file: 'mean.binaryproto' }\n"
    "  data_param { source: 'train_lmdb' batch_size: 256 backend: LMDB } }\n"
    "layer { name: 'data' type: 'ImageData' top: 'data' top: 'label' include { phase: TEST }\n"
    "  transform_param { mirror: true scale: 0.004 mean_value: 104 mean_value: 117 }\n"
    "  image_data_param { new_height: 256 new_width: 256 } }\n";

std::string Sentences(Phase phase, const std::string& data) {
  DataConfig config;
  ParseTextProto(data, "data", &config);
  std::string all;
  for (const std::string& each : UnusedDataSettings(ParseNet(kNet, "net"), config, phase)) {
    all += each + "\n";
  }
  return all;
}

TEST(AdviceTest, SettingsOfADataLayerWithoutCounterpartAreNamed) {
  EXPECT_EQ(Sentences(TRAIN, "source: 'x'"),
            "net:1:1: layer \"data\": mean_file, mirror are not used: set "
            "train_data.mean_file, train_data.mirror in the job\n");
  EXPECT_EQ(
      Sentences(TRAIN, "source: 'x' mirror: true mean: 104 crop_size: 227"),
      "net:1:1: layer \"data\": cropping at random is not used: set train_data.random_crop in "
      "the job\n");
  EXPECT_EQ(Sentences(TRAIN,
                      "source: 'x' mirror: true mean: 104 crop_size: 227 "
                      "resize_height: 227 resize_width: 227"),
            "");
  EXPECT_EQ(Sentences(TRAIN, "source: 'x' mirror: true random_crop: true"),
            "net:1:1: layer \"data\": mean_file is not used: set train_data.mean_file in the "
            "job\n");
  EXPECT_EQ(Sentences(TRAIN, "source: 'x' mirror: true random_crop: true mean_file: 'm'"), "");
  EXPECT_EQ(Sentences(TRAIN,
                      "source: 'x' mirror: true random_resized_crop: true mean: 104 "
                      "crop_size: 227"),
            "");
  EXPECT_EQ(
      Sentences(TEST, "source: 'x'"),
      "net:4:1: layer \"data\": scale, mean_value, new_height are not used: set "
      "validation_data.std, validation_data.mean, validation_data.resize_height in the job\n");
  EXPECT_EQ(Sentences(TEST, "source: 'x' mean: 1 std: 2 resize_height: 256 resize_width: 256"), "");
}

TEST(AdviceTest, AWindowDataLayerDoesNotCropAtRandom) {
  const NetSource net = ParseNet(
      "layer { name: 'data' type: 'WindowData' top: 'data' top: 'label'\n"
      "  window_data_param { mirror: true crop_size: 227 mean_file: 'mean.binaryproto' } }",
      "net");
  DataConfig config;
  ParseTextProto("source: 'x' crop_size: 227", "data", &config);
  EXPECT_EQ(UnusedDataSettings(net, config, TRAIN),
            std::vector<std::string>{"net:1:1: layer \"data\": mean_file, mirror are not used: set "
                                     "train_data.mean_file, train_data.mirror in the job"});
}

}  // namespace
}  // namespace gf
