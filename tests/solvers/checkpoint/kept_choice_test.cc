#include "solvers/checkpoint/kept_choice.h"

#include <gtest/gtest.h>

#include <string>

#include "comm/local/communicator.h"
#include "tests/comm/flow/gradient_flow_checks.h"

namespace gf {
namespace {

JobConfig Automatic() {
  JobConfig config;
  config.mutable_comm()->set_mode(CommConfig::AUTO);
  config.mutable_comm()->set_algorithm("ring");
  return config;
}

TrainingState Checkpoint() {
  TrainingState state;
  state.world = 2;
  state.threads = 1;
  state.exchange = "QUANTIZED 8";
  state.config = Automatic().DebugString();
  return state;
}

// What a job of two ranks keeps, and what it says.
struct Kept {
  std::string rung, note;
};

Kept Keep(const TrainingState& state, const JobConfig& config, const std::string& solver = "SGD") {
  Kept kept;
  RunLocal(2, 60, [&](Communicator* comm) {
    PoolLayout layout;
    PoolEntry entry;
    entry.name = "fc.weight";
    entry.shape = Shape{128, 128};
    layout.Add(entry);
    GradientFlowOptions options;
    options.config = config.comm();
    options.solver = solver;
    options.device = TestDevice();
    TestFlow f(layout, options, DType::kFP32, comm);
    std::string note;
    // Rank 0's threads decide.
    const std::string rung = KeepChoice(state, config, 1 + comm->rank(), f.flow.get(), comm,
                                        [&](const std::string& text) { note += text; });
    EXPECT_EQ(f.flow->State().empty(), rung.empty());
    if (comm->rank() == 0) kept = {rung, note};
  });
  return kept;
}

TEST(KeptChoiceTest, TheSameJobKeepsItsChoice) {
  JobConfig config = Automatic();
  config.mutable_comm()->set_timeout_s(77);
  config.set_net("elsewhere/the_same.prototxt");
  const Kept kept = Keep(Checkpoint(), config);
  EXPECT_EQ(kept.rung, "QUANTIZED 8");
  EXPECT_EQ(kept.note, "comm.mode AUTO: QUANTIZED 8, as before the checkpoint");
}

TEST(KeptChoiceTest, OtherJobsMeasureAnewAndSaySo) {
  const std::string anew = "comm.mode AUTO measures anew: ";
  TrainingState state = Checkpoint();
  state.world = 3;
  Kept kept = Keep(state, Automatic());
  EXPECT_EQ(kept.rung, "");
  EXPECT_EQ(kept.note, anew + "its choice QUANTIZED 8 was for 3 ranks");

  JobConfig config = Automatic();
  config.mutable_comm()->mutable_auto_()->set_exposed(0.2);
  EXPECT_EQ(Keep(Checkpoint(), config).note,
            anew + "its choice QUANTIZED 8 was for other settings of comm");

  state = Checkpoint();
  state.threads = 4;
  EXPECT_EQ(Keep(state, Automatic()).note,
            anew + "its choice QUANTIZED 8 was for 4 threads per rank");

  config = Automatic();
  config.mutable_train_data()->set_batch_size(77);
  EXPECT_EQ(Keep(Checkpoint(), config).note,
            anew + "its choice QUANTIZED 8 was for another batch, size of images or device");

  state = Checkpoint();
  state.exchange = "MERCURY 7\n";
  EXPECT_EQ(Keep(state, Automatic()).note,
            anew + "its choice MERCURY 7? does not go with this job");

  state = Checkpoint();
  state.exchange.clear();
  EXPECT_EQ(Keep(state, Automatic()).note, anew + "the checkpoint holds no choice");

  state = Checkpoint();
  state.exchange = "TOPK 0.01";
  EXPECT_EQ(Keep(state, Automatic(), "LARS").note,
            anew + "its choice TOPK 0.01 does not go with this job");

  state = Checkpoint();
  state.config = "net { ";
  EXPECT_EQ(Keep(state, Automatic()).note, anew + "its config cannot be read");
}

TEST(KeptChoiceTest, OtherModesKeepNothing) {
  JobConfig config;
  config.mutable_comm()->set_algorithm("ring");
  const Kept kept = Keep(Checkpoint(), config);
  EXPECT_EQ(kept.rung + kept.note, "");
}

}  // namespace
}  // namespace gf
