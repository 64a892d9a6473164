#include "comm/flow/tuner.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/local/communicator.h"
#include "core/error.h"

namespace gf {
namespace {

// Ranks whose allreduces do nothing but take as long as a model says, by a clock of their own.
class ModelledCommunicator : public Communicator {
 public:
  using Model = std::function<double(const std::string& algorithm, int64_t bytes, int run)>;

  ModelledCommunicator(Communicator* ranks, Model model) : ranks_(ranks), model_(std::move(model)) {
    SetRanks(ranks->rank(), ranks->hosts());
  }

  void Run(const Collective& c, const std::string&) override {
    const int64_t bytes = c.count * static_cast<int64_t>(SizeOf(c.wire));
    time_ += model_(c.algorithm, bytes, runs_[c.algorithm]++);
  }
  void AllReduce(double* values, int64_t count, ReduceOp op, const std::string& label) override {
    ranks_->AllReduce(values, count, op, label);
  }
  void AllReduce(int64_t* values, int64_t count, ReduceOp op, const std::string& label) override {
    ranks_->AllReduce(values, count, op, label);
  }
  std::vector<std::string> AllGather(const std::string& mine, const std::string& label) override {
    return ranks_->AllGather(mine, label);
  }
  void Broadcast(std::string* bytes, int root, const std::string& label) override {
    ranks_->Broadcast(bytes, root, label);
  }
  void Barrier(const std::string& label) override { ranks_->Barrier(label); }
  void Finalize() override {}
  std::function<double()> clock() const {
    return [this] { return time_; };
  }
  [[noreturn]] void Abort(int exit_code) override { std::_Exit(exit_code); }

 private:
  Communicator* const ranks_;
  const Model model_;
  std::map<std::string, int> runs_;
  double time_ = 0;
};

CommConfig Automatic() {
  CommConfig config;
  config.set_algorithm("auto");
  return config;
}

// What `ranks` ranks choose with that model, for each of the sizes.
std::vector<std::string> Choices(int ranks, const ModelledCommunicator::Model& model,
                                 const std::vector<int64_t>& sizes) {
  std::vector<std::vector<std::string>> choices(ranks);
  RunLocal(ranks, 60, [&](Communicator* comm) {
    ModelledCommunicator modelled(comm, model);
    AlgorithmChoice choice(Automatic(), /*deterministic=*/false, &modelled);
    choice.Measure(4 << 20, DType::kFP32, DType::kFP32, &modelled, modelled.clock());
    for (int64_t bytes : sizes) choices[comm->rank()].push_back(choice.For(bytes));
  });
  for (const std::vector<std::string>& others : choices) EXPECT_EQ(others, choices[0]);
  return choices[0];
}

TEST(TunerTest, WhatLosesByLatencyMayWinByBandwidth) {
  const auto model = [](const std::string& algorithm, int64_t bytes, int) {
    if (algorithm == "ring") return 5e-3 + 1e-9 * bytes;
    if (algorithm == "recursive_doubling") return 5e-4 + 5e-9 * bytes;
    return 2e-3 + 20e-9 * bytes;
  };
  EXPECT_EQ(Choices(4, model, {4, 1 << 10, 4 << 20, 64 << 20}),
            (std::vector<std::string>{"recursive_doubling", "recursive_doubling", "ring", "ring"}));
}

TEST(TunerTest, ADisturbedRunDoesNotDecide) {
  const auto model = [](const std::string& algorithm, int64_t, int run) {
    // The best is disturbed now and then, another is lucky once.
    if (algorithm == "double_tree") return run % 12 == 0 ? 20e-3 : 1e-3;
    if (algorithm == "ring") return run == 1 ? 1e-4 : 3e-3;
    return 4e-3;
  };
  EXPECT_EQ(Choices(4, model, {1 << 10, 64 << 10}),
            (std::vector<std::string>{"double_tree", "double_tree"}));
}

TEST(TunerTest, TheSlowestRankCounts) {
  RunLocal(3, 60, [](Communicator* comm) {
    const bool slow = comm->rank() == 2;
    ModelledCommunicator modelled(comm, [slow](const std::string& algorithm, int64_t, int) {
      if (algorithm == "ring") return slow ? 8e-3 : 1e-4;
      return algorithm == "double_tree" ? 2e-3 : 4e-3;
    });
    AlgorithmChoice choice(Automatic(), false, &modelled);
    choice.Measure(64 << 10, DType::kFP32, DType::kBF16, &modelled, modelled.clock());
    EXPECT_EQ(choice.For(64 << 10), "double_tree") << choice.Describe();
  });
}

TEST(TunerTest, NamesAreChecked) {
  RunLocal(2, 60, [](Communicator* comm) {
    CommConfig config;
    config.set_algorithm("rign");
    EXPECT_THROW(AlgorithmChoice(config, false, comm), UserError);
    config.set_algorithm("ring");
    AlgorithmChoice choice(config, false, comm);
    choice.Measure(1 << 20, DType::kFP32, DType::kFP32, comm);  // nothing to choose
    EXPECT_EQ(choice.Describe(), "ring");
    EXPECT_EQ(AlgorithmChoice(Automatic(), /*deterministic=*/true, comm).For(1 << 10),
              "recursive_doubling");
  });
}

}  // namespace
}  // namespace gf
