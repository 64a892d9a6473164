#include "solvers/checkpoint/load.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "comm/local/communicator.h"
#include "core/error.h"
#include "core/output_file.h"
#include "solvers/checkpoint/checkpoint_folder.h"
#include "solvers/checkpoint/save.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

namespace fs = std::filesystem;

constexpr int kWorld = 3;

std::string Root() { return ::testing::TempDir() + "/load_test"; }
std::string Folder() { return Root() + "/step-00000042"; }

JobConfig Config() {
  JobConfig config;
  config.mutable_solver()->set_type("SGD");
  config.mutable_checkpoint()->set_dir(Root());
  return config;
}

// What a rank of a job has.
struct Rank {
  explicit Rank(Communicator* comm) : comm(comm), store(TestStore()) {
    solver = NewSolver("solver", "SGD", SolverConfig(), store.get());
    GradientFlowOptions options;
    options.config.set_mode(CommConfig::LAZY);
    options.config.set_algorithm("native");
    options.device = TestDevice();
    flow = NewGradientFlow(store->layout(), store->gradient(), comm, options);
  }

  // Other values than a new rank's, and different ones on every rank.
  void Change() {
    const auto count = store->layout().count();
    for (int64_t i = 0; i < count; ++i) store->master().as<float>()[i] += 1.f + comm->rank();
    for (const auto& pool : solver->State()) {
      for (int64_t i = 0; i < count; ++i) pool.second.as<float>()[i] = 2.f + comm->rank();
    }
  }

  TrainingState Load(const StartOptions& options, const JobConfig& config = Config()) {
    return LoadStart(config, options, 1, store.get(), *solver, flow.get(), comm,
                     [&](const std::string& text) { notes += text + "\n"; });
  }

  std::vector<float> Weights() const { return Values(*store, store->master(), store->layout()); }
  std::vector<float> Momentum() const {
    return Values(*store, solver->State().front().second, store->layout());
  }

  Communicator* comm;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Solver> solver;
  std::unique_ptr<GradientFlow> flow;
  std::string notes;
};

class LoadTest : public ::testing::Test {
 protected:
  LoadTest() {
    fs::remove_all(Root());
    TestDevice();
  }

  // The checkpoint of rank 0's state at step 42.
  static void Save() {
    RunLocal(1, 20, [](Communicator* comm) {
      Rank rank(comm);
      rank.Change();
      TrainingState state;
      state.step = 42;
      state.updates = 41;
      state.last_lr = 0.1 / 3;
      state.loss_scale = 1024;
      state.clean_steps = 7;
      state.position = 840;
      state.epoch = 2.1;
      state.seed = UINT64_MAX;
      state.world = 2;
      state.threads = 5;
      state.solver = "SGD";
      state.net = "small";
      state.config = "name: \"small\"";
      const auto folder =
          OpenCheckpointFolder(Config().checkpoint(), *rank.store, *rank.solver, *rank.flow, comm);
      EXPECT_EQ(SaveCheckpoint(folder.get(), state, *rank.store, *rank.solver, *rank.flow,
                               SparseConfig(), comm),
                Folder());
    });
  }

  static std::string Error(const StartOptions& options, const JobConfig& config = Config()) {
    try {
      RunLocal(kWorld, 20, [&](Communicator* comm) { Rank(comm).Load(options, config); });
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  }
};

TEST_F(LoadTest, EveryRankGetsAllThatTheCheckpointHolds) {
  Save();
  std::vector<float> weights, momentum;
  RunLocal(1, 20, [&](Communicator* comm) {
    Rank rank(comm);
    rank.Change();
    weights = rank.Weights();
    momentum = rank.Momentum();
  });
  for (const std::string& resume : {std::string("latest"), Folder()}) {
    RunLocal(kWorld, 20, [&](Communicator* comm) {
      Rank rank(comm);
      StartOptions options;
      options.resume = resume;
      const TrainingState state = rank.Load(options);
      EXPECT_EQ(state.step, 42);
      EXPECT_EQ(state.updates, 41);
      EXPECT_EQ(state.last_lr, 0.1 / 3);
      EXPECT_EQ(state.loss_scale, 1024);
      EXPECT_EQ(state.clean_steps, 7);
      EXPECT_EQ(state.position, 840);
      EXPECT_EQ(state.epoch, 2.1);
      EXPECT_EQ(state.seed, UINT64_MAX);
      EXPECT_EQ(state.world, 2);
      EXPECT_EQ(state.threads, 5);
      EXPECT_EQ(state.solver, "SGD");
      EXPECT_EQ(state.net, "small");
      EXPECT_EQ(state.config, "name: \"small\"");
      EXPECT_EQ(state.residual_ranks, 0);
      EXPECT_EQ(rank.Weights(), weights);
      EXPECT_EQ(rank.Momentum(), momentum);
      EXPECT_EQ(rank.notes,
                comm->rank() == 0 ? "resuming from " + Folder() + ", step 42\n" : std::string());
    });
  }
}

TEST_F(LoadTest, AWeightsFileIsANewStart) {
  Save();
  std::vector<float> expected;
  RunLocal(1, 20, [&](Communicator* comm) {
    Rank rank(comm);
    rank.Change();
    expected = rank.Weights();
  });
  RunLocal(kWorld, 20, [&](Communicator* comm) {
    Rank rank(comm);
    const std::vector<float> initial = rank.Weights();
    StartOptions options;
    options.weights = Folder() + "/weights.safetensors";
    JobConfig config = Config();
    config.mutable_checkpoint()->set_dir(Root() + "/another");
    const TrainingState state = rank.Load(options, config);
    EXPECT_EQ(state.step, 0);
    EXPECT_EQ(state.config, "");
    EXPECT_NE(rank.Weights(), initial);
    EXPECT_EQ(rank.Weights(), expected);
  });
}

TEST_F(LoadTest, WithoutACheckpointTheLatestIsANewStart) {
  RunLocal(kWorld, 20, [&](Communicator* comm) {
    Rank rank(comm);
    const std::vector<float> weights = rank.Weights();
    StartOptions options;
    options.resume = "latest";
    const TrainingState state = rank.Load(options);
    EXPECT_EQ(state.step, 0);
    EXPECT_EQ(rank.Weights(), weights);
    EXPECT_EQ(rank.notes, comm->rank() == 0
                              ? "no checkpoint in " + Root() + ": starting from scratch\n"
                              : std::string());
  });
}

TEST_F(LoadTest, CheckpointsThatCannotBeReadAreNotOverwritten) {
  Save();
  for (const FoundCheckpoint& found : ListCheckpoints(Root())) {
    ReplaceFile(found.path + "/state.json", "{}");
  }
  StartOptions options;
  options.resume = "latest";
  EXPECT_EQ(Error(options).find("--resume: 1 checkpoint in " + Root() + ", and none can be read"),
            0u)
      << Error(options);
  EXPECT_EQ(Error(StartOptions()).find("checkpoint.dir: " + Root() + " already holds later"), 0u);
}

TEST_F(LoadTest, AFolderOfCheckpointsStandsForItsNewestValidOne) {
  Save();
  fs::create_directories(Root() + "/step-00000099");  // passed over
  StartOptions options;
  options.resume = Root();
  testing::internal::CaptureStderr();
  RunLocal(1, 20, [&](Communicator* comm) {
    Rank rank(comm);
    EXPECT_EQ(rank.Load(options).step, 42);
    EXPECT_EQ(rank.notes, "resuming from " + Folder() + ", step 42\n");
    JobConfig config;
    EXPECT_EQ(FindEvaluationWeights(config, Root(), comm), Folder());
    config.mutable_checkpoint()->set_dir(Root());
    EXPECT_EQ(FindEvaluationWeights(config, "", comm), Folder());
    EXPECT_EQ(FindEvaluationWeights(config, Folder(), comm), Folder());
    LoadEvaluationWeights(Folder(), false, rank.store.get(), comm);
  });
  // What was passed over is a warning, not output.
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_NE(warnings.find("warning: checkpoint " + Root() + "/step-00000099 is passed over"),
            std::string::npos)
      << warnings;
  fs::remove_all(Folder());
  EXPECT_EQ(Error(options).find("--resume: 1 checkpoint in " + Root() + ", and none can be read"),
            0u)
      << Error(options);
}

TEST_F(LoadTest, RefusesWhatItCannotResume) {
  StartOptions options;
  options.resume = Root() + "/none";
  EXPECT_EQ(Error(options).find("--resume: " + Root() + "/none is not a folder"), 0u);
  options.resume = "latest";
  EXPECT_EQ(Error(options, JobConfig()).find("--resume: checkpoint.dir is not set"), 0u);
}

TEST_F(LoadTest, ANewRunDoesNotMixItsCheckpointsWithLaterOnes) {
  Save();
  EXPECT_EQ(Error(StartOptions()).find("checkpoint.dir: " + Root() + " already holds later"), 0u);
}

}  // namespace
}  // namespace gf
