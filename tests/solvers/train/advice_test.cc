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
            "net:1:1: layer \"data\": mean_file, mirror are not used: set train_data.mean, "
            "train_data.mirror in the job\n");
  EXPECT_EQ(
      Sentences(TRAIN, "source: 'x' mirror: true mean: 104 crop_size: 227"),
      "net:1:1: layer \"data\": cropping at random is not used: set train_data.random_crop in "
      "the job\n");
  EXPECT_EQ(Sentences(TRAIN,
                      "source: 'x' mirror: true mean: 104 crop_size: 227 "
                      "resize_height: 227 resize_width: 227"),
            "");
  EXPECT_EQ(Sentences(TRAIN, "source: 'x' mirror: true random_crop: true"),
            "net:1:1: layer \"data\": mean_file is not used: set train_data.mean in the job\n");
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

TEST(AdviceTest, ModesThatFindNothingToCompressAreNamed) {
  const auto layout = [](int64_t inputs) {
    PoolLayout layout;
    PoolEntry entry;
    entry.name = "ip.weight";
    entry.shape = Shape({64, inputs});
    layout.Add(entry);
    return layout;
  };
  CommConfig comm;
  for (const CommConfig::Mode mode : {CommConfig::TOPK, CommConfig::QUANTIZED}) {
    comm.set_mode(mode);
    EXPECT_EQ(NothingIsLarge(comm, layout(64)), "");
    EXPECT_EQ(NothingIsLarge(comm, PoolLayout()), "");
    EXPECT_EQ(NothingIsLarge(comm, layout(63)),
              "comm.mode " + CommConfig::Mode_Name(mode) +
                  " sends everything as a whole: the net has no weights of 4,096 elements or "
                  "more; set comm.mode to LAZY");
  }
  comm.set_mode(CommConfig::SPARSE);
  EXPECT_EQ(NothingIsLarge(comm, layout(63)), "");
}

TEST(AdviceTest, FewChunksAreNamedWithABetterSize) {
  CommConfig comm;
  comm.set_mode(CommConfig::SPARSE);
  EXPECT_EQ(FewChunks(comm, 272000),
            "comm.mode SPARSE chooses among only 9 chunks: 272,000 gradients in chunks of "
            "comm.sparse.chunk_size (32,000); set comm.sparse.chunk_size to 1360 or less, or take "
            "LAZY for a net as small as this");
  EXPECT_EQ(FewChunks(comm, 3200000), "");
  comm.mutable_sparse()->set_chunk_size(1360);
  EXPECT_EQ(FewChunks(comm, 272000), "");
  comm.mutable_sparse()->set_chunk_size(32000);
  comm.mutable_sparse()->set_density(1);
  EXPECT_EQ(FewChunks(comm, 272000), "");
  comm.set_mode(CommConfig::LAZY);
  EXPECT_EQ(FewChunks(comm, 272000), "");
  comm.mutable_sparse()->set_density(0.1);
  comm.set_mode(CommConfig::PERIODIC);
  EXPECT_EQ(FewChunks(comm, 272000), "");
  comm.mutable_periodic()->set_exchange(CommConfig::SPARSE);
  EXPECT_EQ(FewChunks(comm, 272000).rfind("comm.periodic.exchange SPARSE chooses among only 9", 0),
            0u);
}

TEST(AdviceTest, TopkThatSendsAllIsNamedWithALowerDensity) {
  JobConfig config;
  config.set_compute_type(BF16);
  config.mutable_comm()->set_mode(CommConfig::TOPK);
  config.mutable_comm()->mutable_topk()->set_density(0.01);
  EXPECT_EQ(TopkSendsAll(config, 100), "");
  EXPECT_EQ(TopkSendsAll(config, 101),
            "TOPK equals LAZY at comm.topk.density 0.01 on 101 ranks: their messages "
            "would be longer than an allreduce of all gradients in BF16, so all gradients are "
            "sent; set comm.topk.density to 0.0049 or less, which sends at most half as many "
            "bytes, or take another mode");
  config.mutable_comm()->set_wire_type(CommConfig::FP32);
  EXPECT_EQ(TopkSendsAll(config, 133), "");
  EXPECT_NE(TopkSendsAll(config, 134), "");
  config.mutable_comm()->mutable_topk()->set_density(0.0049);
  EXPECT_EQ(TopkSendsAll(config, 134), "");
  config.mutable_comm()->mutable_topk()->set_density(1);  // as the user wants it
  EXPECT_EQ(TopkSendsAll(config, 134), "");
  config.mutable_comm()->mutable_topk()->set_density(0.01);
  config.mutable_comm()->mutable_periodic()->set_exchange(CommConfig::TOPK);
  config.mutable_comm()->set_mode(CommConfig::PERIODIC);
  EXPECT_NE(TopkSendsAll(config, 134), "");
  config.mutable_comm()->set_mode(CommConfig::LAZY);
  EXPECT_EQ(TopkSendsAll(config, 134), "");
}

}  // namespace
}  // namespace gf
