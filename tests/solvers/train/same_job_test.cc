#include "solvers/train/same_job.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "comm/agree.h"
#include "comm/local/communicator.h"
#include "core/estimate/estimate_device.h"

namespace gf {
namespace {

TEST(SameConfigTest, RanksThatDifferAreNamed) {
  JobConfig same;
  RunLocal(2, 20, [&](Communicator* comm) { CheckSameConfig(same, comm); });
  try {
    RunLocal(2, 20, [](Communicator* comm) {
      JobConfig config;
      config.mutable_solver()->set_base_lr(comm->rank() == 0 ? 0.5f : 0.25f);
      CheckSameConfig(config, comm);
    });
    FAIL();
  } catch (const AgreedError& e) {
    const std::string message = e.what();
    EXPECT_NE(message.find("solver.base_lr: 0.5 on rank 0"), std::string::npos) << message;
    EXPECT_NE(message.find("0.25 on rank 1"), std::string::npos) << message;
  }
}

// A device with the model that the test gives it.
class NamedDevice : public EstimateDevice {
 public:
  explicit NamedDevice(std::string model)
      : EstimateDevice(FindGpu("gpu", "h200")), model_(std::move(model)) {}
  std::string Model() const override { return model_; }

 private:
  const std::string model_;
};

TEST(SameProductsTest, RanksOnOtherProcessorsAreNamedWhereItMatters) {
  SolverConfig solver;
  const auto check = [&](const std::string& second) {
    RunLocal(2, 20, [&](Communicator* comm) {
      const NamedDevice device(comm->rank() == 0 ? "cpu, 2 threads" : second);
      CheckSameProducts(solver, device, comm);
    });
  };
  check("cpu, 4 threads");
  solver.set_type("Muon");
  check("cpu, 2 threads");
  try {
    check("cpu, 4 threads");
    FAIL();
  } catch (const AgreedError& e) {
    const std::string message = e.what();
    EXPECT_EQ(message.find("ranks disagree on the device (solver.type Muon needs the same"), 0u)
        << message;
    EXPECT_NE(message.find("cpu, 2 threads on rank 0"), std::string::npos) << message;
    EXPECT_NE(message.find("cpu, 4 threads on rank 1"), std::string::npos) << message;
  }
}

class NoteChangesTest : public ::testing::Test {
 protected:
  NoteChangesTest() {
    config_.mutable_solver()->set_base_lr(0.5f);
    config_.mutable_telemetry()->set_display_interval(10);
    checkpoint_.world = 2;
    checkpoint_.threads = 4;
    checkpoint_.position = 450;
    checkpoint_.epoch = 1.5;
    checkpoint_.config = config_.DebugString();
  }

  static constexpr int64_t kImages = 300;

  std::string Notes(int world = 2, int threads = 4) const {
    std::string notes;
    NoteChanges(checkpoint_, config_, world, threads, kImages,
                [&](const std::string& text) { notes += text + "\n"; });
    return notes;
  }

  TrainingState checkpoint_;
  JobConfig config_;
};

TEST_F(NoteChangesTest, NothingIsSaidOfTheSameJob) { EXPECT_EQ(Notes(), ""); }

TEST_F(NoteChangesTest, RanksAndThreadsAreTold) {
  EXPECT_NE(Notes(3).find("from a run on 2 ranks, this run has 3: the data continue"),
            std::string::npos);
  EXPECT_NE(
      Notes(2, 1).find("from a run with 4 compute threads per rank, this run has 1: the last"),
      std::string::npos);
}

TEST_F(NoteChangesTest, AnotherEpochOfTheSameStepIsTold) {
  config_.mutable_train_data()->set_batch_size(15);
  checkpoint_.config = config_.DebugString();
  checkpoint_.step = 15;  // of 30 images on 2 ranks: 450
  EXPECT_EQ(Notes(), "");
  EXPECT_NE(
      Notes(4).find("step 15 has reached epoch 1.50 of the data, but epoch 3.00 of this run's "
                    "schedule: a step takes 60 images, before the checkpoint 30; "),
      std::string::npos)
      << Notes(4);
  EXPECT_NE(Notes(1).find("epoch 0.75 of this run's schedule"), std::string::npos);
}

TEST(NoteClassChangesTest, TheFirstClassThatDiffersIsNamed) {
  const auto notes = [](const std::vector<std::string>& was, const std::vector<std::string>& is) {
    std::string notes;
    NoteClassChanges(was, is, [&](const std::string& text) { notes += text; });
    return notes;
  };
  EXPECT_EQ(notes({"ant", "bee"}, {"ant", "bee"}), "");
  EXPECT_EQ(notes({}, {"ant"}), "");
  EXPECT_EQ(notes({"ant"}, {}), "");
  EXPECT_NE(notes({"ant", "bee"}, {"ant", "cat"}).find("class 1 was \"bee\", is \"cat\""),
            std::string::npos);
  EXPECT_NE(notes({"ant"}, {"ant", "cat"}).find("class 1 was none, is \"cat\""), std::string::npos);
}

TEST_F(NoteChangesTest, AnotherNumberOfImagesIsTold) {
  checkpoint_.epoch = 3;
  EXPECT_NE(Notes().find("from a run on 150 training images, this run has 300: epochs"),
            std::string::npos);
}

TEST_F(NoteChangesTest, OnlySettingsThatChangeWhatIsLearnedAreTold) {
  config_.mutable_telemetry()->set_display_interval(20);
  EXPECT_EQ(Notes(), "");
  config_.mutable_solver()->set_base_lr(0.25f);
  config_.set_seed(77);
  config_.mutable_comm()->set_error_feedback(true);
  config_.mutable_comm()->set_sharded_update(true);
  config_.mutable_comm()->mutable_quantized()->set_bits(4);
  config_.mutable_comm()->mutable_periodic()->set_steps(16);
  EXPECT_NE(Notes().find("changed since the checkpoint: solver.base_lr was 0.5, is 0.25\n"),
            std::string::npos);
  EXPECT_NE(Notes().find("changed since the checkpoint: seed was "), std::string::npos);
  EXPECT_NE(Notes().find("comm.error_feedback was false, is true\n"), std::string::npos);
  EXPECT_NE(Notes().find("comm.sharded_update was false, is true\n"), std::string::npos);
  EXPECT_NE(Notes().find("comm.quantized.bits was 8, is 4\n"), std::string::npos) << Notes();
  EXPECT_NE(Notes().find("comm.periodic.steps was 8, is 16\n"), std::string::npos) << Notes();
  checkpoint_.config = "not a config";
  EXPECT_EQ(Notes(), "");
}

}  // namespace
}  // namespace gf
