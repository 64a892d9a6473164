// Checkpoints of a job with solver.average.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/folder.h"
#include "solvers/checkpoint/checkpoint.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

constexpr float kAway = 0.5f;  // of the average from the weights

// A job's pools and what a checkpoint needs besides.
struct Job {
  explicit Job(bool averages) : store(TestStore()) {
    SolverConfig config;
    solver = NewSolver("solver", "SGD", config, store.get());
    state.step = 7;
    state.position = 70;
    state.epoch = 0.5;
    state.net = "test";
    state.world = 1;
    state.threads = 1;
    state.solver = "SGD";
    if (!averages) return;
    state.config = "solver { average { decay: 0.9 } }";
    store->AddAverage();
    const ParameterStore& average = *store->average();
    for (const auto& [from, to] : {std::pair(store->master(), average.master()),
                                   std::pair(store->states(), average.states())}) {
      for (int64_t i = 0; i < to.desc.shape.count(); ++i) {
        to.as<float>()[i] = from.as<float>()[i] + kAway;
      }
    }
  }

  float First() const { return Values(*store, store->master(), store->layout())[0]; }
  float FirstState() const { return Values(*store, store->states(), store->state_layout())[0]; }
  float FirstAverage() const {
    const ParameterStore& average = *store->average();
    return Values(average, average.master(), average.layout())[0];
  }

  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Solver> solver;
  TrainingState state;
};

std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

class AverageCheckpointTest : public testing::Test {
 protected:
  void Write(const Job& job) { WriteCheckpointFiles(folder_, job.state, *job.store, *job.solver); }
  // Into pools that hold something else.
  void Load(Job* job, bool trains = true) {
    for (const Tensor& pool : {job->store->master(), job->store->states()}) {
      for (int64_t i = 0; i < pool.desc.shape.count(); ++i) pool.as<float>()[i] = -1;
    }
    LoadCheckpoint(folder_, "SGD", job->store.get(), trains ? job->solver.get() : nullptr);
  }

  void SetUp() override {
    RemoveAll(folder_);
    MakeFolders(folder_);
  }

  const std::string folder_ = testing::TempDir() + "/average";
};

TEST_F(AverageCheckpointTest, TrainingGetsBothAndAnEvaluationTheAverage) {
  const Job saved(true);
  const float weight = saved.First(), state = saved.FirstState();
  Write(saved);
  EXPECT_TRUE(CheckpointHasAverage(folder_));
  Job both(true), trained(false), evaluated(false);
  Load(&both);
  EXPECT_EQ(both.First(), weight);
  EXPECT_EQ(both.FirstState(), state);
  EXPECT_EQ(both.FirstAverage(), weight + kAway);
  Load(&trained);
  EXPECT_EQ(trained.First(), weight);
  EXPECT_EQ(trained.FirstState(), state);
  Load(&evaluated, /*trains=*/false);
  EXPECT_EQ(evaluated.First(), weight + kAway);
  EXPECT_EQ(evaluated.FirstState(), state + kAway);
}

TEST_F(AverageCheckpointTest, AnAverageBeginsAtTheWeights) {
  const Job saved(false);
  Write(saved);
  EXPECT_FALSE(CheckpointHasAverage(folder_));
  Job job(true);
  Load(&job);
  EXPECT_EQ(job.First(), saved.First());
  EXPECT_EQ(job.FirstAverage(), saved.First());
}

TEST_F(AverageCheckpointTest, ACheckpointWithoutTheTrainedWeightsIsDamaged) {
  Job saved(false);
  saved.state.config = "solver { average { decay: 0.9 } }";
  Write(saved);
  Job job(true);
  const std::string error = ErrorOf([&] { Load(&job); });
  EXPECT_NE(error.find("optimizer.safetensors: has no trained weights"), std::string::npos)
      << error;
}

TEST_F(AverageCheckpointTest, AnAverageThatIsNotFiniteReplacesNoGoodOne) {
  const Job job(true);
  job.store->average()->master().as<float>()[job.store->layout().entries()[1].offset] = INFINITY;
  EXPECT_NE(ErrorOf([&] { Write(job); }).find("fc.weight is not finite"), std::string::npos);
}

}  // namespace
}  // namespace gf
