#include "core/config/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/config/job_checks.h"
#include "core/error.h"

namespace gf {
namespace {

constexpr char kJob[] = R"(
  net: "nets/lenet.prototxt"
  train_data { source: "data/train-*.tar" channels: 3 mean: [1, 2, 3] std: 4 }
  validation_data { source: "/abs/val" }
  solver { base_lr: 0.1 max_epochs: 2.5 }
  checkpoint { dir: "checkpoints" }
)";

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = testing::TempDir() + "/job.prototxt";
    std::ofstream(file_) << kJob;
  }

  JobConfig Read(const std::vector<std::string>& overrides = {}) {
    return ReadJobConfig(file_, overrides);
  }

  std::string Error(const std::vector<std::string>& overrides) {
    try {
      Read(overrides);
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  }

  // The error of a file with this text; "FILE" stands for its name.
  std::string ErrorOfFile(const std::string& text, const std::vector<std::string>& overrides = {}) {
    std::ofstream(file_) << text;
    std::string error = Error(overrides);
    const size_t at = error.find(file_);
    return at == error.npos ? error : error.replace(at, file_.size(), "FILE");
  }

  std::string file_;
};

TEST_F(ConfigTest, InputsAreRelativeToTheConfigOutputsToTheWorkingFolder) {
  const JobConfig config = Read();
  EXPECT_EQ(config.net(), testing::TempDir() + "/nets/lenet.prototxt");
  EXPECT_EQ(config.train_data().source(), testing::TempDir() + "/data/train-*.tar");
  EXPECT_EQ(config.validation_data().source(), "/abs/val");
  EXPECT_EQ(config.checkpoint().dir(), "checkpoints");
}

TEST_F(ConfigTest, APathThatExistsInTheWorkingFolderAloneIsPointedOut) {
  const std::string here = testing::TempDir() + "/here";
  std::filesystem::create_directories(here + "/jobs");
  std::filesystem::create_directories(here + "/data");
  std::ofstream(here + "/data/0.tar") << "";
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(here);
  file_ = "jobs/job.prototxt";
  const std::string rest = " solver { base_lr: 1 max_steps: 1 }";
  EXPECT_EQ(
      ErrorOfFile("net: \"/n\"\ntrain_data { source: \"data/*.tar\" }" + rest),
      "FILE:2:14: train_data.source: jobs/data/*.tar does not exist, but data/*.tar does: net "
      "and data are relative to the config file; write ../data/*.tar or the whole path");
  std::ofstream("net.prototxt") << "";
  EXPECT_NE(Error({"net=net.prototxt"}).find("--set net=net.prototxt: net: jobs/net.prototxt does"),
            std::string::npos);
  // Programs that do not open the data do not ask for them.
  EXPECT_EQ(ReadJobConfig(file_, {}, OpenedData::kValidation).train_data().source(),
            "jobs/data/*.tar");
  std::filesystem::create_directories(here + "/jobs/data");
  std::ofstream(here + "/jobs/data/0.tar") << "";
  EXPECT_EQ(Read().train_data().source(), "jobs/data/*.tar");
  // A folder of the pattern's name says nothing of its files.
  std::filesystem::remove(here + "/data/0.tar");
  std::filesystem::remove(here + "/jobs/data/0.tar");
  EXPECT_EQ(Read().train_data().source(), "jobs/data/*.tar");
  std::filesystem::current_path(before);
}

TEST_F(ConfigTest, WithoutValidationDataTheTrainingPathIsResolvedOnce) {
  std::ofstream(file_) << "net: \"n\" train_data { source: \"d\" } "
                          "solver { base_lr: 1 max_steps: 1 }";
  const JobConfig config = Read();
  EXPECT_EQ(config.train_data().source(), testing::TempDir() + "/d");
  EXPECT_FALSE(config.has_validation_data());
}

TEST_F(ConfigTest, OverridesComeAfterTheFileInOrder) {
  const JobConfig config = Read({"solver.base_lr=0.2", "threads=2", "threads=3"});
  EXPECT_EQ(config.solver().base_lr(), 0.2f);
  EXPECT_EQ(config.threads(), 3);
}

TEST_F(ConfigTest, AMissingFieldIsNamedWithTheBlockThatShouldHoldIt) {
  EXPECT_EQ(ErrorOfFile("net: 'n'\ntrain_data { batch_size: 3 }"),
            "FILE:2:1: train_data.source is missing: name a folder, a file or a glob of shards");
  EXPECT_EQ(ErrorOfFile("net: 'n'\n train_data { source: 'd' }\n  solver { max_steps: 1 }"),
            "FILE:3:3: solver.base_lr is missing: give the learning rate");
  EXPECT_EQ(ErrorOfFile("net: 'n' train_data { source: 'd' }\nsolver { base_lr: 1 }"),
            "FILE:2:1: solver.max_epochs is missing: give max_epochs or max_steps, the length of "
            "training");
  EXPECT_EQ(ErrorOfFile("train_data { source: 'd' }"),
            "FILE: net is missing: name the network's prototxt file");
  EXPECT_EQ(ErrorOfFile("net: 'n' solver { base_lr: 1 max_steps: 2 }"),
            "FILE: train_data is missing: say what to train on");
  EXPECT_EQ(ErrorOfFile(kJob, {"init[0].pattern=*"})
                .find("--set init[0].pattern=*: "
                      "init[0].filler is missing: "),
            0u);
}

TEST_F(ConfigTest, AnErrorOfTheFileNamesLineAndColumn) {
  const std::string head = "net: 'n'\ntrain_data {\n  source: 'd'\n  batch_size: 0\n}\n";
  EXPECT_EQ(ErrorOfFile(head), "FILE:4:3: train_data.batch_size is 0, must be greater than 0");
  const std::string solver =
      "net: 'n' train_data { source: 'd' }\nsolver { base_lr: 1 max_steps: 1 ";
  EXPECT_EQ(ErrorOfFile(solver + "momentum: 1 }"),
            "FILE:2:34: solver.momentum is 1, must be less than 1");
  EXPECT_EQ(ErrorOfFile(solver + "lr_policy: MULTISTEP step_value: 5\n  step_value: 5 }"),
            "FILE:3:3: solver.step_value[1] is 5, must be greater than the one before (5)");
  EXPECT_EQ(ErrorOfFile(solver + "max_epochs: 2 }"),
            "FILE:2:21: solver.max_steps does not go with max_epochs: give one of them");
  EXPECT_EQ(ErrorOfFile("net: 'n' train_data { source: 'd' std: [1,\n 0, 1] }"),
            "FILE:1:35: train_data.std[1] is 0, must be greater than 0");
}

TEST_F(ConfigTest, AnErrorOfSetNamesTheAssignment) {
  EXPECT_EQ(Error({"train_data.batch_size=0"}),
            "--set train_data.batch_size=0: train_data.batch_size is 0, must be greater than 0");
  EXPECT_EQ(Error({"train_data.mean=1,2"}),
            "--set train_data.mean=1,2: train_data.mean has 2 values, must have 1 or 3 (channels)");
  EXPECT_EQ(Error({"train_data.channels=1", "train_data.mean=1,2"}),
            "--set train_data.mean=1,2: train_data.mean has 2 values, must have 1");
  EXPECT_EQ(Error({"solver.lr_policy=MULTISTEP", "solver.step_value=5,5"}),
            "--set solver.step_value=5,5: solver.step_value[1] is 5, must be greater than the one "
            "before (5)");
  EXPECT_EQ(Error({"solver.lr_policy=STEP"}),
            "--set solver.lr_policy=STEP: solver.step_size is missing: lr_policy STEP needs "
            "step_size or step_epochs");
  EXPECT_EQ(Error({"net="}), "--set net=: net is missing: name the network's prototxt file");
  // The file has max_epochs; what --set adds to it is the mistake.
  EXPECT_EQ(Error({"solver.max_steps=9"}),
            "--set solver.max_steps=9: solver.max_steps does not go with max_epochs: give one of "
            "them");
}

TEST_F(ConfigTest, AMessageThatSetHasAddedNamesTheAssignment) {
  const std::string job = "net: 'n' train_data { source: 'd' } solver { base_lr: 1 max_steps: 1 }";
  EXPECT_EQ(ErrorOfFile(job, {"validation_data.batch_size=3"})
                .find("--set validation_data.batch_size=3: validation_data.source is missing"),
            0u);
}

TEST_F(ConfigTest, NumbersThatWouldOverflowAreRefused) {
  EXPECT_EQ(Error({"threads=1025"}), "--set threads=1025: threads is 1025, must be at most 1024");
  EXPECT_NE(Error({"solver.max_epochs=1e30"}).find("solver.max_epochs is 1e+30, must be at most"),
            std::string::npos);
}

TEST_F(ConfigTest, TheLastSetOfAFieldIsNamed) {
  EXPECT_EQ(Error({"threads=2", "threads=-3"}),
            "--set threads=-3: threads is -3, must be at least 0");
  EXPECT_EQ(ErrorOfFile("net: 'n' threads: -1 train_data { source: 'd' }", {"threads=-2"}),
            "--set threads=-2: threads is -2, must be at least 0");
  EXPECT_EQ(ErrorOfFile("net: 'n' threads: -1 train_data { source: 'd' }", {"seed=2"}),
            "FILE:1:10: threads is -1, must be at least 0");
}

TEST_F(ConfigTest, OfTwoFieldsThatDoNotGoTogetherTheOneFromSetIsNamed) {
  const std::string job = "net: 'n' train_data { source: 'd' } solver { base_lr: 1 max_steps: 1 }";
  EXPECT_EQ(ErrorOfFile(job, {"solver.max_epochs=2"}),
            "--set solver.max_epochs=2: solver.max_epochs does not go with max_steps: give one of "
            "them");
}

TEST_F(ConfigTest, ModesOfExchangeThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(Error({"comm.mode=PER_TENSOR", "comm.threshold_auto=true"}),
            "--set comm.threshold_auto=true: comm.threshold_auto needs comm.mode LAZY, got "
            "PER_TENSOR: set it to false, or the mode to LAZY");
  EXPECT_EQ(
      Error({"comm.mode=LAZY", "comm.algorithm=ring", "comm.threshold_auto=true"}),
      "--set comm.threshold_auto=true: comm.threshold_auto needs comm.algorithm \"auto\", got "
      "\"ring\": set it to false, or the algorithm to \"auto\"");
  EXPECT_EQ(Error({"comm.mode=LAZY", "comm.algorithm=auto", "comm.threshold_auto=true",
                   "comm.sharded_update=true"}),
            "--set comm.threshold_auto=true: comm.threshold_auto does not go with sharded_update: "
            "set one of them to false");
  EXPECT_EQ(
      Error({"comm.mode=SPARSE", "comm.sharded_update=true"}),
      "--set comm.sharded_update=true: comm.sharded_update does not go with comm.mode SPARSE: "
      "set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.mode=TOPK", "comm.sharded_update=true"}),
            "--set comm.sharded_update=true: comm.sharded_update does not go with comm.mode TOPK: "
            "set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.mode=TOPK", "solver.type=LARS"}),
            "--set comm.mode=TOPK: comm.mode TOPK needs solver.type SGD, got LARS: set solver.type "
            "to SGD, or the mode to LOW_RANK, SPARSE or LAZY");
  EXPECT_EQ(Error({"comm.mode=LOW_RANK", "solver.type=LARS"}), "no error");
  EXPECT_EQ(
      Error({"comm.mode=LOW_RANK", "comm.sharded_update=true"}),
      "--set comm.sharded_update=true: comm.sharded_update does not go with comm.mode LOW_RANK: "
      "set another mode, e.g. LAZY");
  EXPECT_EQ(
      Error({"comm.mode=QUANTIZED", "comm.sharded_update=true"}),
      "--set comm.sharded_update=true: comm.sharded_update does not go with comm.mode QUANTIZED: "
      "set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.mode=QUANTIZED", "comm.threshold_auto=true"}),
            "--set comm.threshold_auto=true: comm.threshold_auto needs comm.mode LAZY, got "
            "QUANTIZED: set it to false, or the mode to LAZY");
  EXPECT_EQ(Error({"comm.mode=QUANTIZED", "solver.type=LAMB", "comm.wire_type=BF16",
                   "comm.quantized.bits=4", "comm.quantized.rotate=true"}),
            "no error");
  EXPECT_EQ(Error({"comm.mode=TOPK", "solver.type=SGD", "comm.topk.density=0.001"}), "no error");
  EXPECT_EQ(Error({"comm.mode=AUTO", "comm.auto.exposed=0.1", "solver.type=LARS"}), "no error");
  EXPECT_EQ(Error({"comm.mode=AUTO", "comm.sparse.density=0.1"}),
            "--set comm.sparse.density=0.1: comm.sparse.density does not go with comm.mode AUTO, "
            "which chooses it: remove it, or set a mode");
  EXPECT_EQ(Error({"comm.mode=AUTO", "device=cuda"}),
            "--set comm.mode=AUTO: comm.mode AUTO cannot measure on the device \"cuda\": set a "
            "mode, e.g. LAZY with wire_type BF16, or QUANTIZED");
  EXPECT_EQ(Error({"comm.error_feedback=true"}),
            "--set comm.error_feedback=true: comm.error_feedback needs comm.wire_type BF16 or "
            "FP16, got GRADIENT: set one of them, or error_feedback to false");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=BF16", "comm.mode=SPARSE"}),
            "--set comm.error_feedback=true: comm.error_feedback does not go with comm.mode "
            "SPARSE: set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.mode=SPARSE"})
                .rfind("--set comm.error_feedback=true: comm.error_feedback does not go with", 0),
            0u)
      << "another wire type would not help";
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=BF16", "comm.mode=QUANTIZED"}),
            "--set comm.error_feedback=true: comm.error_feedback does not go with comm.mode "
            "QUANTIZED: set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=BF16", "comm.sharded_update=true"}),
            "--set comm.error_feedback=true: comm.error_feedback does not go with sharded_update: "
            "set one of them to false");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=BF16", "comm.threshold_auto=true"}),
            "--set comm.error_feedback=true: comm.error_feedback does not go with threshold_auto: "
            "set one of them to false");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=FP16", "compute_type=BF16"}),
            "--set comm.error_feedback=true: comm.error_feedback needs gradients in FP32: set "
            "compute_type to FP32, or error_feedback to false");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=FP16"}), "no error");
  EXPECT_EQ(Error({"comm.mode=SPARSE", "comm.sparse.step_ahead=true", "solver.type=LARS"}),
            "--set comm.sparse.step_ahead=true: comm.sparse.step_ahead needs solver.type SGD, got "
            "LARS: remove it");
  EXPECT_EQ(Error({"comm.mode=SPARSE", "comm.sparse.step_ahead=true", "compute_type=BF16"}),
            "--set comm.sparse.step_ahead=true: comm.sparse.step_ahead needs compute_type FP32 on "
            "CPUs, got BF16: remove it");
  EXPECT_EQ(
      Error({"comm.mode=PERIODIC", "comm.periodic.exchange=SPARSE", "comm.sparse.step_ahead=true"}),
      "--set comm.sparse.step_ahead=true: comm.sparse.step_ahead does not go with comm.mode "
      "PERIODIC: remove it");
  EXPECT_EQ(Error({"comm.mode=SPARSE", "comm.sparse.step_ahead=true"}), "no error");
  EXPECT_EQ(Error({"comm.mode=SPARSE", "comm.sparse.step_ahead=false", "solver.type=LARS"}),
            "no error");
  EXPECT_EQ(Error({"comm.mode=SPARSE", "comm.sparse.step_ahead=true", "device=cuda",
                   "compute_type=BF16"}),
            "no error");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.periodic.exchange=TOPK", "comm.error_feedback=true"})
                .rfind("--set comm.error_feedback=true: comm.error_feedback needs "
                       "comm.periodic.exchange LAZY, got TOPK",
                       0),
            0u);
  EXPECT_EQ(Error({"comm.mode=SPARSE", "solver.type=LARS"}), "no error");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.periodic.exchange=PER_TENSOR"}),
            "--set comm.periodic.exchange=PER_TENSOR: comm.periodic.exchange is PER_TENSOR, "
            "expected LAZY, SPARSE, TOPK, LOW_RANK or QUANTIZED");
  EXPECT_NE(Error({"comm.periodic.exchange=PERIODIC", "comm.mode=PERIODIC"})
                .find("comm.periodic.exchange is PERIODIC, expected LAZY"),
            std::string::npos);
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.wire_type=FP16"}),
            "--set comm.wire_type=FP16: comm.wire_type FP16 does not go with comm.mode PERIODIC, "
            "whose differences of weights may be too small for it: set BF16 or FP32");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "solver.loss_scale.policy=DYNAMIC"}),
            "--set comm.mode=PERIODIC: comm.mode PERIODIC does not go with loss scaling, whose "
            "skipped steps would differ between the ranks: set solver.loss_scale.policy to NONE "
            "and compute_type to BF16 or FP32");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "batch_norm_group=0"}),
            "--set comm.mode=PERIODIC: comm.mode PERIODIC does not go with batch_norm_group, whose "
            "ranks need the same weights: set batch_norm_group to 1, or the mode to LAZY");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.sharded_update=true"}),
            "--set comm.sharded_update=true: comm.sharded_update does not go with comm.mode "
            "PERIODIC: set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.error_feedback=true", "comm.wire_type=BF16",
                   "comm.periodic.exchange=TOPK"}),
            "--set comm.error_feedback=true: comm.error_feedback needs comm.periodic.exchange "
            "LAZY, got TOPK, which keeps what it does not send by itself: set error_feedback to "
            "false");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.error_feedback=true"}),
            "--set comm.error_feedback=true: comm.error_feedback needs comm.wire_type BF16, got "
            "GRADIENT: set it, or error_feedback to false");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.error_feedback=true", "comm.wire_type=BF16",
                   "compute_type=BF16"}),
            "no error");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.periodic.exchange=TOPK", "solver.type=LAMB"}),
            "no error");
  EXPECT_EQ(Error({"comm.algorithm=torus", "comm.sharded_update=true"}),
            "--set comm.sharded_update=true: comm.sharded_update needs comm.algorithm \"auto\" or "
            "\"ring\", got \"torus\"");
  EXPECT_EQ(Error({"comm.sharded_update=true", "solver.loss_scale.policy=DYNAMIC"}),
            "--set comm.sharded_update=true: comm.sharded_update does not go with loss scaling, "
            "which may skip an update: set solver.loss_scale.policy to NONE");
}

TEST_F(ConfigTest, AConfigThatWasBuiltInCodeNamesTheFieldAlone) {
  const auto error = [](const JobConfig& config) -> std::string {
    try {
      CheckJob(config);
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  JobConfig config = Read();
  EXPECT_EQ(error(config), "no error");
  config.mutable_comm()->mutable_sparse()->set_density(3);
  EXPECT_EQ(error(config), "comm.sparse.density is 3, must be at most 1");
  config.mutable_comm()->clear_sparse();
  config.clear_net();
  EXPECT_EQ(error(config), "net is missing: name the network's prototxt file");
}

// min_area is 0.08 by default.
TEST_F(ConfigTest, ADefaultHasNoPlace) {
  EXPECT_EQ(Places().Before("train_data.min_area"), "");
  const std::string error = Error({"train_data.random_resized_crop=true", "train_data.crop_size=9",
                                   "train_data.max_area=0.05"});
  EXPECT_EQ(error.find("--set train_data.max_area=0.05: train_data.max_area leaves no area"), 0u)
      << error;
  EXPECT_EQ(Error({"solver.lr_policy=EXP", "solver.gamma=0"}),
            "--set solver.gamma=0: solver.gamma is 0, must be greater than 0 with lr_policy EXP");
}

TEST_F(ConfigTest, EveryRangeIsChecked) {
  const std::vector<std::vector<std::string>> wrong = {
      {"solver.base_lr=0"},
      {"solver.base_lr=nan"},
      {"solver.base_lr=inf"},
      {"solver.max_steps=1"},  // besides max_epochs
      {"solver.max_epochs=0"},
      {"solver.momentum=1"},
      {"solver.momentum=-0.1"},
      {"solver.weight_decay=-1"},
      {"solver.iter_size=0"},
      {"solver.base_lr_per_256=1"},  // besides base_lr
      {"solver.end_lr=-1"},
      {"solver.trust_coefficient=0"},
      {"solver.epsilon=-1"},
      {"solver.type=LAMB", "solver.epsilon=0"},
      {"solver.beta1=1"},
      {"solver.beta2=-0.1"},
      {"solver.label_smoothing=1"},
      {"solver.loss_scale.scale=0.5"},
      {"solver.loss_scale.scale=2e12"},
      {"solver.loss_scale.least=0"},
      {"solver.loss_scale.least=65537"},
      {"solver.loss_scale.growth_interval=0"},
      {"solver.loss_scale.most_bad_steps=0"},
      {"solver.batch_phase[0].epoch=1"},
      {"solver.batch_phase[0].iter_size=2", "solver.batch_phase[0].epoch=-1"},
      {"solver.batch_phase[0].epoch=2", "solver.batch_phase[0].iter_size=2",
       "solver.batch_phase[1].iter_size=2", "solver.batch_phase[1].epoch=2"},
      {"solver.step_size=0"},
      {"solver.step_epochs=0"},
      {"solver.lr_policy=STEP", "solver.step_epochs=1", "solver.step_size=1"},
      {"solver.epoch_value=0"},
      {"solver.gamma=-1"},
      {"solver.warmup_steps=-1"},
      {"solver.warmup_epochs=-1"},
      {"solver.warmup_steps=1", "solver.warmup_epochs=1"},
      {"solver.warmup_lr=-1"},
      {"solver.lr_policy=STEP"},
      {"solver.lr_policy=STEP", "solver.step_size=3", "solver.gamma=0"},
      {"solver.lr_policy=MULTISTEP"},
      {"solver.lr_policy=MULTISTEP", "solver.step_value=0,3"},
      {"solver.lr_policy=MULTISTEP", "solver.step_value=3,2"},
      {"solver.lr_policy=POLY", "solver.power=-1"},
      {"train_data.batch_size=0"},
      {"validation_data.batch_size=-5"},
      {"train_data.workers=-1"},
      {"train_data.prefetch=0"},
      {"train_data.channels=2"},
      {"train_data.std=0"},
      {"train_data.std=1,1"},
      {"train_data.resize_shorter=-1"},
      {"train_data.resize_height=8"},
      {"train_data.resize_height=8", "train_data.resize_width=8", "train_data.resize_shorter=8"},
      {"train_data.pad=-1"},
      {"train_data.batch_size=16777217"},
      {"train_data.workers=1025"},
      {"train_data.prefetch=1025"},
      {"train_data.images=-1"},
      {"train_data.resize_shorter=65501"},
      {"train_data.resize_width=-1"},
      {"train_data.crop_size=65501"},
      {"train_data.brightness=-1"},
      {"train_data.contrast=-1"},
      {"train_data.saturation=-1"},
      {"train_data.lighting=-1"},
      {"train_data.brightness=1", "train_data.mean=1", "train_data.channels=1"},
      {"train_data.cache_mib=-1"},
      {"train_data.cache_mib=16777217"},
      {"train_data.device_cache_mib=-1"},
      {"validation_data.device_cache_mib=1"},
      {"train_data.brightness=1", "train_data.device_cache_mib=1"},
      {"train_data.shuffle_window=-1"},
      {"train_data.exchange=1.1"},
      {"train_data.exchange=-0.1"},
      {"train_data.exchange=0.5", "train_data.shuffle_window=9"},
      {"train_data.min_area=0"},
      {"train_data.max_area=1.1"},
      {"train_data.min_aspect=0"},
      {"train_data.max_aspect=101"},
      {"train_data.random_crop=true"},
      {"train_data.random_resized_crop=true"},
      {"train_data.crop_size=9", "train_data.random_crop=true",
       "train_data.random_resized_crop=true"},
      {"train_data.crop_size=9", "train_data.pad=1", "train_data.random_resized_crop=true"},
      {"train_data.crop_size=9", "train_data.random_resized_crop=true", "train_data.min_aspect=2"},
      {"train_data.crop_size=-1"},
      {"train_data.resize_shorter=32", "train_data.pad=2", "train_data.crop_size=37"},
      {"threads=-1"},
      {"batch_norm_group=-1"},
      {"device="},
      {"comm.timeout_s=0"},
      {"comm.threshold_first=-1"},
      {"comm.threshold_middle=-1"},
      {"comm.threshold_last=-1"},
      {"comm.device_transport=tcp"},
      {"comm.sparse.density=0"},
      {"comm.sparse.density=1.1"},
      {"comm.sparse.chunk_size=0"},
      {"comm.sparse.warmup_fraction=-0.1"},
      {"comm.sparse.warmup_fraction=1.1"},
      {"comm.quantized.bits=5"},
      {"comm.quantized.bits=0"},
      {"comm.quantized.bits=-8"},
      {"comm.quantized.bits=16"},
      {"comm.periodic.steps=0"},
      {"comm.periodic.steps=100001"},
      {"comm.periodic.warmup_fraction=1.1"},
      {"comm.periodic.outer_lr=0"},
      {"comm.periodic.outer_momentum=1"},
      {"checkpoint.keep=-1"},
      {"checkpoint.interval_epochs=-1"},
      {"checkpoint.interval_steps=-1"},
      {"telemetry.display_interval=0"},
      {"validation_interval_epochs=0"},
  };
  for (const auto& overrides : wrong) {
    // The message is about one of the overrides, or about the block that lacks something.
    const std::string error = Error(overrides);
    bool named = error.find(" is missing: ") != error.npos;
    for (const std::string& override : overrides) {
      named = named || error.find("--set " + override + ": ") == 0;
    }
    EXPECT_TRUE(named) << overrides.back() << ": " << error;
  }
}

TEST_F(ConfigTest, TheBitsOfQuantizedAreAChoice) {
  EXPECT_EQ(Error({"comm.quantized.bits=5"}),
            "--set comm.quantized.bits=5: comm.quantized.bits is 5, must be 8 or 4");
  EXPECT_NE(Error({"comm.quantized.levels=3"}).find("levels"), std::string::npos);
  EXPECT_NE(ErrorOfFile("comm { quantized { bits: 4\n levels: 3 } }").find("FILE:2:2: "),
            std::string::npos);
}

TEST_F(ConfigTest, TheLimitsThemselvesAreAllowed) {
  for (const std::vector<std::string>& overrides : std::vector<std::vector<std::string>>{
           {"solver.momentum=0"},
           {"checkpoint.keep=0"},
           {"threads=0"},
           {"train_data.mean="},
           {"comm.sparse.density=1"},
           {"train_data.exchange=0"},
           {"train_data.workers=1024"},
           {"solver.loss_scale.scale=1"},
           {"solver.epsilon=0"},
           {"train_data.mean=1"},
           {"train_data.resize_shorter=32", "train_data.pad=2", "train_data.crop_size=36"},
           {"solver.lr_policy=MULTISTEP", "solver.step_value=1,2"}}) {
    EXPECT_EQ(Error(overrides), "no error") << overrides.back();
  }
}

TEST_F(ConfigTest, NumbersThatNoClockAndNoCounterHoldsAreRefused) {
  for (const char* setting :
       {"solver.max_epochs=1e308", "solver.warmup_epochs=1e308", "solver.step_epochs=1e308",
        "solver.epoch_value=1e308", "solver.warmup_steps=9223372036854775807",
        "solver.step_size=9223372036854775807", "solver.step_value=9223372036854775807",
        "solver.iter_size=2147483647", "comm.timeout_s=1e308",
        "comm.sparse.chunk_size=9223372036854775807", "train_data.images=9223372036854775807"}) {
    const std::string field = std::string(setting).substr(0, std::string(setting).find('='));
    EXPECT_NE(Error({setting}).find(field), std::string::npos) << Error({setting});
    EXPECT_NE(Error({setting}).find("must be at most"), std::string::npos) << Error({setting});
  }
  EXPECT_NE(Error({"solver.batch_phase[0].epoch=1e308", "solver.batch_phase[0].iter_size=2"})
                .find("solver.batch_phase[0].epoch is 1e+308, must be at most 1000000"),
            std::string::npos);
}

TEST_F(ConfigTest, AWarmUpIsShorterThanTraining) {
  EXPECT_NE(Error({"solver.warmup_epochs=2.5"})
                .find("solver.warmup_epochs is 2.5, must be less than max_epochs (2.5): shorten"),
            std::string::npos)
      << Error({"solver.warmup_epochs=2.5"});
  EXPECT_EQ(Error({"solver.warmup_epochs=2.4"}), "no error");
}

}  // namespace
}  // namespace gf
