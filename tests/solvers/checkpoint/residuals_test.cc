// Residuals of checkpoints, saved and loaded.
#include "solvers/checkpoint/residuals.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>

#include "tests/comm/separate_device.h"
#include "tests/solvers/checkpoint/residuals_for_test.h"

namespace gf {
namespace {

// Nothing but a name, for a device without solvers.
class NoSolver : public Solver {
 public:
  void BeginStep(const UpdateScalars&) override {}
  void Inspect(const std::vector<ElementRange>&) override {}
  bool Finite() override { return true; }
  void Update(const std::vector<ElementRange>&) override {}
  std::vector<std::pair<std::string, Tensor>> State() const override { return {}; }
};

const bool no_solver_registered = SolverRegistry::Get().Add(
    "separate/SGD", [](const SolverConfig&, ParameterStore*) -> std::unique_ptr<Solver> {
      return std::make_unique<NoSolver>();
    });

TEST_F(ResidualsTest, EveryRankGetsItsOwnBack) {
  for (int world : {1, 2, 3}) {
    Save(world);
    RunLocal(world, 60, [&](Communicator* comm) {
      Rank saved(comm), loaded(comm);
      saved.Fill();
      EXPECT_EQ(loaded.Load(world), "");
      const Tensor a = saved.flow->residual(), b = loaded.flow->residual();
      EXPECT_EQ(std::memcmp(a.data, b.data, a.desc.bytes()), 0) << comm->rank() << " of " << world;
      EXPECT_EQ(loaded.flow->important_chunks(), kImportant);
    });
  }
}

// The solver divides sums over the ranks by the world.
TEST_F(ResidualsTest, AnotherWorldKeepsTheirPartInTheMeanGradient) {
  for (int before : {1, 2, 3}) {
    Save(before);
    for (int after : {1, 2, 3, 4}) {
      if (after == before) continue;
      std::mutex mutex;
      std::vector<std::vector<float>> shares;
      RunLocal(after, 60, [&](Communicator* comm) {
        Rank rank(comm);
        const std::string notes = rank.Load(before);
        EXPECT_EQ(notes.find("the mean of the residuals of " + std::to_string(before) + " rank") !=
                      std::string::npos,
                  comm->rank() == 0)
            << notes;
        EXPECT_EQ(rank.flow->important_chunks(), kImportant);
        std::lock_guard<std::mutex> lock(mutex);
        shares.push_back(rank.Residual());
      });
      RunLocal(1, 60, [&](Communicator* comm) {
        const Rank rank(comm);
        for (size_t i = 0; i < shares[0].size(); ++i) {
          float expected = 0, sum = 0;
          for (int r = 0; r < before; ++r) expected += rank.Value(r, i);
          for (const auto& share : shares) {
            EXPECT_EQ(share[i], shares[0][i]);
            sum += share[i];
          }
          ASSERT_NEAR(sum / after, expected / before, 1e-4)
              << i << ": " << before << " to " << after;
        }
      });
    }
  }
}

TEST_F(ResidualsTest, VelocitiesTravelWithThem) {
  RunLocal(2, 60, [](Communicator* comm) {
    Rank saved(comm, "TOPK"), loaded(comm, "TOPK");
    saved.Fill();
    saved.Save();
    EXPECT_EQ(loaded.Load(2), "");
    ASSERT_EQ(saved.Kept().size(), 2u);
    EXPECT_EQ(loaded.Kept(), saved.Kept());
  });
  // Another world: means.
  RunLocal(1, 60, [](Communicator* comm) {
    Rank loaded(comm, "TOPK");
    loaded.Load(2);
    const auto kept = loaded.Kept();
    for (size_t p = 0, i = 0; p < kept.size(); ++p) {
      for (const float value : kept[p]) {
        ASSERT_EQ(value, (loaded.Value(0, i) + loaded.Value(1, i)) / 2);
        ++i;
      }
    }
  });
}

// Of large weights; a mode without momentum on the ranks keeps gradients.
TEST_F(ResidualsTest, BetweenTopkAndOtherModesUnitsAreConverted) {
  constexpr float kMomentum = 0.9f;
  for (const int world : {2, 1}) {  // one rank gets the means
    RunLocal(2, 60, [](Communicator* comm) {
      Rank saved(comm, "TOPK", kChunkSize, 700);
      saved.Fill();
      saved.Save();
    });
    RunLocal(world, 60, [&](Communicator* comm) {
      Rank topk(comm, "TOPK", kChunkSize, 700), sparse(comm, "SPARSE", kChunkSize, 700);
      topk.Load(2);
      const std::string notes = sparse.Load(2);
      EXPECT_EQ(notes.find("lost"), std::string::npos) << notes;
      EXPECT_EQ(notes.find("are converted") != std::string::npos, comm->rank() == 0) << notes;
      const auto kept = topk.Kept();
      const auto gradients = sparse.Residual();
      const auto& entries = sparse.store->layout().entries();
      size_t i = 0;
      for (const PoolEntry& entry : entries) {
        for (int64_t k = 0; k < entry.shape.count(); ++k, ++i) {
          const bool large = entry.name == "fc.weight";
          const float expected =
              large ? (1 - kMomentum) * kept[0][i] + kMomentum * kept[1][i] : kept[0][i];
          ASSERT_NEAR(gradients[i], expected, 1e-4) << entry.name;
        }
      }
    });
  }
  RunLocal(2, 60, [](Communicator* comm) {
    Rank sparse(comm, "SPARSE", kChunkSize, 700), topk(comm, "TOPK", kChunkSize, 700);
    sparse.Fill();
    sparse.Save();
    EXPECT_EQ(topk.Load(2), comm->rank() == 0
                                ? "the checkpoint's residuals are converted to this mode's unit\n"
                                : "");
    const auto kept = topk.Kept();
    const auto gradients = sparse.Residual();
    size_t i = 0;
    for (const PoolEntry& entry : topk.store->layout().entries()) {
      for (int64_t k = 0; k < entry.shape.count(); ++k, ++i) {
        const float expected =
            entry.name == "fc.weight" ? gradients[i] / (1 - kMomentum) : gradients[i];
        ASSERT_NEAR(kept[0][i], expected, 1e-3) << entry.name;
        ASSERT_EQ(kept[1][i], 0) << entry.name;
      }
    }
  });
}

TEST_F(ResidualsTest, AnotherChunkSizeKeepsThemAndCommunicatesAllChunks) {
  Save(2);
  RunLocal(2, 60, [](Communicator* comm) {
    Rank saved(comm), loaded(comm, "SPARSE", 64);
    saved.Fill();
    const std::string notes = loaded.Load(2);
    if (comm->rank() == 0) {
      EXPECT_NE(notes.find("100 of "), std::string::npos) << notes;
    }
    EXPECT_EQ(loaded.Residual(), saved.Residual());
    EXPECT_EQ(loaded.flow->important_chunks(), Rank(comm, "SPARSE", 64).flow->important_chunks());
  });
}

TEST_F(ResidualsTest, FromAModeWithoutThemSparseStartsWithNoneAndSaysSo) {
  RunLocal(2, 60, [](Communicator* comm) {
    Rank lazy(comm, "LAZY"), sparse(comm);
    lazy.Save();
    const std::string notes = sparse.Load(0);
    if (comm->rank() == 0) {
      EXPECT_NE(notes.find("has no residuals"), std::string::npos) << notes;
    }
    for (float value : sparse.Residual()) ASSERT_EQ(value, 0);
    EXPECT_EQ(sparse.flow->important_chunks(), Rank(comm).flow->important_chunks());
  });
  EXPECT_EQ(VerifyCheckpoint(Folder()).residual_ranks, 0);
  EXPECT_FALSE(fs::exists(Folder() + "/" + ResidualFile(0)));
}

TEST_F(ResidualsTest, AModeWithoutThemSaysThatTheyAreLost) {
  Save(1);
  RunLocal(1, 60, [](Communicator* comm) {
    const std::string notes = Rank(comm, "LAZY").Load(1);
    EXPECT_NE(notes.find("are lost"), std::string::npos) << notes;
  });
}

TEST_F(ResidualsTest, AfterADenseStepResumingChangesNoSignOfZero) {
  RunLocal(1, 60, [](Communicator* comm) {
    Rank saved(comm), loaded(comm);
    saved.Save();
    loaded.Load(1);
    float* const gradient = loaded.store->gradient().as<float>();
    gradient[0] = -0.f;
    loaded.flow->BeginStep(0);
    loaded.flow->Finish([](const std::vector<ElementRange>&) {});
    EXPECT_TRUE(std::signbit(gradient[0]));
  });
}

TEST_F(ResidualsTest, TheyAreTheSameInMemoryThatTheHostDoesNotRead) {
  SeparateDevice separate;
  for (int world : {1, 3}) {
    RunLocal(world, 60, [&](Communicator* comm) {
      Rank saved(comm, "SPARSE", kChunkSize, 10, &separate);
      saved.Fill();
      saved.Save();
      Rank same(comm, "SPARSE", kChunkSize, 10, &separate), processor(comm);
      same.Load(world);
      processor.Load(world);
      EXPECT_EQ(same.Residual(), saved.Residual());
      EXPECT_EQ(processor.Residual(), saved.Residual());
      EXPECT_EQ(same.flow->important_chunks(), kImportant);
    });
    // Another world: means.
    RunLocal(2, 60, [&](Communicator* comm) {
      Rank same(comm, "SPARSE", kChunkSize, 10, &separate), processor(comm);
      same.Load(world);
      processor.Load(world);
      EXPECT_EQ(same.Residual(), processor.Residual());
    });
  }
}

// Where one rank has kept something and another has not, both take momentum from the same place.
TEST_F(ResidualsTest, AllRanksRestoreIfOneHasKeptSomething) {
  for (int keeper : {0, 1}) {
    RunLocal(2, 60, [&](Communicator* comm) {
      Rank saved(comm, "TOPK"), loaded(comm, "TOPK");
      if (comm->rank() == keeper) saved.Fill();
      saved.Save();
      loaded.Load(2);
      EXPECT_EQ(loaded.Kept(), saved.Kept());
      loaded.flow->BeginStep(0);
      EXPECT_FALSE(loaded.flow->carries_momentum().empty()) << "rank " << comm->rank();
      loaded.flow->Finish([](const std::vector<ElementRange>&) {});
    });
  }
}

TEST_F(ResidualsTest, SizeIsForeseen) {
  Save(3);
  uint64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(Folder())) bytes += file.file_size();
  RunLocal(1, 60, [&](Communicator* comm) {
    const Rank rank(comm);
    const uint64_t own = CheckpointBytes(*rank.store, *rank.solver);
    const uint64_t foreseen = own + ResidualBytes(*rank.flow, *rank.store, 3);
    EXPECT_LE(bytes, foreseen);
    EXPECT_GE(bytes + (1 << 16) + 4 * 8192, foreseen);
    EXPECT_EQ(ResidualBytes(*Rank(comm, "LAZY").flow, *rank.store, 3), 0u);
  });
}

TEST_F(ResidualsTest, AFullDiskIsTheSameErrorOnAllRanksAndLeavesNothing) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old = {};
  getrlimit(RLIMIT_FSIZE, &old);
  std::mutex mutex;
  std::multiset<std::string> errors;
  RunLocal(3, 60, [&](Communicator* comm) {
    try {
      Rank rank(comm);
      rank.Fill();
      rank.Save(2000);
    } catch (const UserError& e) {
      std::lock_guard<std::mutex> lock(mutex);
      errors.insert(e.what());
    }
  });
  setrlimit(RLIMIT_FSIZE, &old);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors.count(*errors.begin()), 3u);
  EXPECT_NE(errors.begin()->find("checkpoint of step 7 failed: cannot write"), std::string::npos)
      << *errors.begin();
  // Rank 0 removes the folder, unless files of another rank are still there.
  if (!fs::exists(Root())) return;
  for (const auto& entry : fs::directory_iterator(Root())) {
    EXPECT_EQ(entry.path().filename(), ".lock");
  }
}

}  // namespace
}  // namespace gf
