#include "solvers/from_caffe/caffe_job.h"

#include <filesystem>

#include "core/config/config.h"
#include "core/file.h"
#include "tests/solvers/from_caffe/caffe_files.h"

namespace gf {
namespace {

class CaffeJobTest : public testing::Test {
 protected:
  void SetUp() override {
    net_ = WriteText("net.prototxt", R"(
      layer { name: "d" type: "Data" top: "data" top: "label"
              transform_param { force_gray: true } data_param { source: "lmdb" batch_size: 6 } }
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
              inner_product_param { num_output: 10 } }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })");
  }

  CaffeJob Read(const std::string& more, const std::vector<std::string>& overrides = {}) {
    solver_ = WriteText(
        "s.prototxt", "net: \"" + net_ + "\" max_iter: 9 base_lr: 0.5 lr_policy: 'fixed' " + more);
    return ReadCaffeJob(solver_, overrides);
  }

  std::string Error(const std::string& more, const std::vector<std::string>& overrides = {}) {
    return ErrorOf([&] { Read(more, overrides); });
  }

  std::string net_, solver_;
};

TEST_F(CaffeJobTest, NamesNetAndData) {
  const CaffeJob job = Read("test_interval: 3 solver_mode: CPU weights: 'x.caffemodel'");
  EXPECT_EQ(job.config.net(), net_);
  EXPECT_EQ(job.config.device(), "cpu");
  EXPECT_EQ(job.config.train_data().source(), "lmdb");
  EXPECT_EQ(job.config.train_data().channels(), 1);
  EXPECT_EQ(job.config.validation_data().source(), "lmdb") << "the layer has no rules";
  EXPECT_EQ(job.weights, "x.caffemodel");
  EXPECT_TRUE(job.remarks.empty());
  EXPECT_FALSE(Read("solver_mode: CPU").config.has_validation_data()) << "no test_interval";
}

TEST_F(CaffeJobTest, SetOverridesBeforeAnythingIsLookedFor) {
  const CaffeJob job = Read("solver_mode: CPU", {"train_data.channels=3", "solver.max_steps=4"});
  EXPECT_EQ(job.config.train_data().channels(), 3);
  EXPECT_EQ(job.config.solver().max_steps(), 4);
  EXPECT_EQ(Error("", {"solver.max_steps=0"}).find("--set solver.max_steps=0: solver.max_steps is"),
            0);
  EXPECT_EQ(Error("", {"net=/nowhere/net"}).find("--set net=/nowhere/net: net: /nowhere/net does"),
            0);
  const std::string given = net_;
  net_ = "/nowhere/net";
  EXPECT_NE(Error("").find("s.prototxt:1:1: net: /nowhere/net does not exist: paths in a"), -1);
  EXPECT_EQ(Read("solver_mode: CPU", {"net=" + given}).config.net(), given);
}

TEST_F(CaffeJobTest, FieldsWithoutEffectAreNamed) {
  const CaffeJob job = Read("solver_mode: CPU test_iter: 10 average_loss: 5 max_momentum: 0.9");
  ASSERT_EQ(job.remarks.size(), 2);
  EXPECT_NE(job.remarks[0].find("batch_size 6 is the batch of each rank; NVIDIA's"), -1);
  EXPECT_EQ(job.remarks[1], solver_ +
                                ": these fields have no effect (replacements in parentheses): "
                                "test_iter (a test takes every image once), "
                                "average_loss (each line shows the mean since the last one), "
                                "max_momentum (the momentum is fixed)");
}

TEST_F(CaffeJobTest, HalfIsTheDevicesOwn) {
  std::ofstream(net_, std::ios::app) << "default_forward_type: FLOAT16 global_grad_scale: 1000";
  const CaffeJob cpu = Read("", {"device=cpu"});
  EXPECT_EQ(cpu.config.compute_type(), BF16);
  EXPECT_EQ(cpu.config.solver().loss_scale().policy(), LossScaleConfig::NONE);
  const CaffeJob gpu = Read("", {"device=cuda"});
  EXPECT_EQ(gpu.config.compute_type(), FP16);
  EXPECT_EQ(gpu.config.solver().loss_scale().policy(), LossScaleConfig::STATIC);
  EXPECT_EQ(gpu.config.solver().loss_scale().scale(), 1000);
}

TEST_F(CaffeJobTest, IsWrittenAsAJobThatReadsTheSame) {
  const std::string dir = testing::TempDir() + "/snapshots/x";
  const CaffeJob job = Read("solver_mode: CPU test_interval: 2 snapshot_prefix: '" + dir + "'");
  const std::string path = WriteCaffeJob(solver_, job.config, "x.caffemodel");
  EXPECT_EQ(path, dir + "/job.prototxt");
  JobConfig expected = job.config;
  MakePathsAbsolute(&expected);
  expected.mutable_checkpoint()->set_dir(std::filesystem::absolute(dir).string());
  EXPECT_EQ(ReadJobConfig(path, {}).DebugString(), expected.DebugString());
  EXPECT_EQ(expected.train_data().source(), std::filesystem::absolute("lmdb").string());

  EXPECT_EQ(WriteCaffeJob(solver_, job.config, "x.caffemodel"), path) << "the same text";
  const std::string written = ReadSmallFile(path, 1 << 20);
  std::ofstream(path, std::ios::app) << "# my edit\n";
  EXPECT_EQ(WriteCaffeJob(solver_, job.config, "x.caffemodel"),
            path + " (the one that was there is now " + path + ".old)");
  EXPECT_EQ(ReadSmallFile(path + ".old", 1 << 20), written + "# my edit\n");
  EXPECT_EQ(ReadSmallFile(path, 1 << 20), written);
  std::ofstream(path, std::ios::app) << "# another edit\n";
  WriteCaffeJob(solver_, job.config, "x.caffemodel");
  EXPECT_EQ(ReadSmallFile(path + ".old", 1 << 20), written + "# my edit\n");
  EXPECT_EQ(ReadSmallFile(path + ".old2", 1 << 20), written + "# another edit\n");
}

}  // namespace
}  // namespace gf
