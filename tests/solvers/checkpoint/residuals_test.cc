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

#include "comm/local/communicator.h"
#include "core/error.h"
#include "solvers/checkpoint/safetensors.h"
#include "solvers/checkpoint/save.h"
#include "tests/comm/separate_device.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kChunkSize = 100;
const std::vector<int64_t> kImportant = {0, 2, 3, 8};

std::string Root() { return ::testing::TempDir() + "/residuals_test"; }
std::string Folder() { return Root() + "/step-00000007"; }

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

// What a rank has.
struct Rank {
  explicit Rank(Communicator* comm, const std::string& mode = "SPARSE",
                int64_t chunk_size = kChunkSize, int64_t classes = 10,
                Device* device = TestDevice())
      : comm(comm), store(TestStore(DType::kFP32, classes, device)) {
    solver = NewSolver("solver", "SGD", SolverConfig(), store.get());
    CommConfig::Mode value = CommConfig::LAZY;
    EXPECT_TRUE(CommConfig::Mode_Parse(mode, &value));
    options.config.set_mode(value);
    options.config.set_algorithm("native");
    options.config.mutable_sparse()->set_chunk_size(chunk_size);
    options.device = device;
    options.momentum = 0.9f;
    flow = NewGradientFlow(store->layout(), store->gradient(), comm, options);
  }

  // Different values on every rank, whose sums are exact.
  float Value(int rank, size_t i) const {
    return static_cast<float>((i * 7 + rank * 13) % 97) - 48;
  }

  void Fill() {
    size_t i = 0;
    for (const auto& [name, pool] : flow->State()) {
      for (const PoolEntry& entry : store->layout().entries()) {
        std::vector<float> values(entry.shape.count());
        for (float& value : values) value = Value(comm->rank(), i++);
        store->Import(values, entry, pool);
      }
    }
    flow->Restore(kImportant);
  }

  // Of every pool that it keeps.
  std::vector<std::vector<float>> Kept() const {
    std::vector<std::vector<float>> kept;
    for (const auto& [name, pool] : flow->State()) {
      kept.push_back(Values(*store, pool, store->layout()));
    }
    return kept;
  }

  std::vector<float> Residual() const { return Values(*store, flow->residual(), store->layout()); }

  // The largest file that can be written stands for a full disk.
  std::string Save(rlim_t largest_file = RLIM_INFINITY) {
    TrainingState state;
    state.step = state.position = 7;
    state.epoch = 1;
    state.solver = "SGD";
    state.world = comm->size();
    CheckpointFolder folder(Root(), 1);
    if (comm->rank() == 0) {
      folder.Prepare(1000);
      rlimit limit = {};
      getrlimit(RLIMIT_FSIZE, &limit);
      limit.rlim_cur = largest_file;
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    return SaveCheckpoint(&folder, state, *store, *solver, *flow, options.config.sparse(), comm);
  }

  // Returns the notes (of rank 0).
  std::string Load(int saved_ranks) {
    std::string notes;
    LoadResiduals(comm->rank() == 0 ? Folder() : "", saved_ranks, options.config.sparse(),
                  {options.momentum, options.nesterov}, store.get(), flow.get(), comm,
                  [&](const std::string& text) { notes += text + "\n"; });
    return notes;
  }

  Communicator* comm;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Solver> solver;
  GradientFlowOptions options;
  std::unique_ptr<GradientFlow> flow;
};

class ResidualsTest : public ::testing::Test {
 protected:
  ResidualsTest() { fs::remove_all(Root()); }

  static void Save(int world) {
    RunLocal(world, 60, [](Communicator* comm) {
      Rank rank(comm);
      rank.Fill();
      EXPECT_EQ(rank.Save(), comm->rank() == 0 ? Folder() : "");
    });
    EXPECT_EQ(VerifyCheckpoint(Folder()).residual_ranks, world);
  }

  // The error, the same on all ranks; "" if there is none.
  static std::string LoadError(int saved_ranks, int world, int64_t classes = 10) {
    std::mutex mutex;
    std::multiset<std::string> errors;
    RunLocal(world, 60, [&](Communicator* comm) {
      std::string error;
      try {
        Rank(comm, "SPARSE", kChunkSize, classes).Load(saved_ranks);
      } catch (const UserError& e) {
        error = e.what();
      }
      std::lock_guard<std::mutex> lock(mutex);
      errors.insert(error);
    });
    const std::string error = *errors.begin();
    EXPECT_EQ(errors.count(error), static_cast<size_t>(world)) << error;
    return error;
  }

  // Writes a rank's file anew. `change(name, values)` may change the values of a tensor and returns
  // its new name, "" to leave it out.
  static void Rewrite(
      int rank, const std::function<std::string(const std::string&, std::vector<float>*)>& change) {
    const std::string path = Folder() + "/" + ResidualFile(rank);
    std::vector<SafetensorsEntry> entries;
    std::vector<std::vector<float>> all;
    {
      const SafetensorsReader file(path);
      for (SafetensorsEntry entry : file.entries()) {
        std::vector<float> values = file.ReadFloats(entry);
        entry.name = change(entry.name, &values);
        if (entry.name.empty()) continue;
        entries.push_back(entry);
        all.push_back(values);
      }
    }
    SafetensorsWriter file(path, entries, {});
    for (const auto& values : all) file.Write(values.data(), values.size() * sizeof(float));
    file.Finish();
  }
};

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

TEST_F(ResidualsTest, DamagedTruncatedAndMissingFilesAreNoticed) {
  for (const std::string& name : {ResidualFile(0), ResidualFile(2), std::string(kChunksFile)}) {
    const auto error = [] {
      try {
        VerifyCheckpoint(Folder());
      } catch (const UserError& e) {
        return std::string(e.what());
      }
      return std::string();
    };
    Save(3);
    const std::string file = Folder() + "/" + name;
    std::FILE* const stream = std::fopen(file.c_str(), "r+");
    std::fseek(stream, -3, SEEK_END);
    std::fputc(0x55, stream);
    std::fclose(stream);
    EXPECT_NE(error().find(name + ": its checksum"), std::string::npos) << error();
    fs::resize_file(file, fs::file_size(file) - 5);
    EXPECT_NE(error().find(name + ": has "), std::string::npos) << error();
    fs::remove(file);
    EXPECT_NE(error().find(name), std::string::npos) << error();
  }
}

TEST_F(ResidualsTest, ThoseOfAnotherNetAreRefusedOnAllRanks) {
  Save(2);
  for (int world : {1, 2}) {
    const std::string error = LoadError(2, world, 11);
    EXPECT_NE(error.find("residual/fc.bias (file 10, net 11)"), std::string::npos) << error;
  }
}

// Under right names and shapes.
TEST_F(ResidualsTest, ValuesThatAreNotFiniteAreRefusedOnAllRanks) {
  for (const float bad : {NAN, -INFINITY}) {
    for (int rank : {0, 1}) {
      Save(2);
      Rewrite(rank, [&](const std::string& name, std::vector<float>* values) {
        if (name == "residual/fc.weight") (*values)[5] = bad;
        return name;
      });
      for (int world : {1, 2}) {
        const std::string error = LoadError(2, world);
        EXPECT_NE(error.find(ResidualFile(rank) + ": residual/fc.weight[5] is "), std::string::npos)
            << error;
        EXPECT_NE(error.find("resume from another checkpoint"), std::string::npos) << error;
      }
    }
  }
}

TEST_F(ResidualsTest, FilesWithoutResidualsAreRefusedOnAllRanks) {
  for (int rank : {0, 1}) {
    Save(2);
    Rewrite(rank, [](const std::string& name, std::vector<float>*) {
      return "velocity" + name.substr(name.find('/'));
    });
    for (int world : {1, 2, 3}) {
      const std::string error = LoadError(2, world);
      EXPECT_NE(
          error.find(ResidualFile(rank) + ": it holds velocity, expected tensors \"residual/...\""),
          std::string::npos)
          << error;
    }
    Rewrite(rank, [](const std::string&, std::vector<float>*) { return ""; });
    EXPECT_NE(LoadError(2, 2).find(ResidualFile(rank) + ": it holds no pool, expected tensors"),
              std::string::npos)
        << LoadError(2, 2);
  }
}

TEST_F(ResidualsTest, RanksWithOtherPoolsThanRankZeroAreRefused) {
  const auto drop_velocity = [](const std::string& name, std::vector<float>*) {
    return name.rfind("velocity/", 0) == 0 ? "" : name;
  };
  for (int rank : {0, 1}) {
    RunLocal(2, 60, [](Communicator* comm) {
      Rank saved(comm, "TOPK");
      saved.Fill();
      saved.Save();
    });
    Rewrite(rank, drop_velocity);
    const std::string both = "residual and velocity";
    for (int world : {1, 2}) {
      const std::string error = LoadError(2, world);
      EXPECT_NE(
          error.find(ResidualFile(1) + ": it holds " + (rank == 0 ? both : "residual") +
                     ", expected " + (rank == 0 ? "residual" : both) + " as in " + ResidualFile(0)),
          std::string::npos)
          << error;
    }
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

TEST_F(ResidualsTest, SharedStateThatCannotBeIsRefusedOnAllRanks) {
  const auto damage = [](float bad) {
    std::map<std::string, std::string> metadata;
    std::vector<SafetensorsEntry> entries;
    std::vector<std::vector<char>> bytes;
    const std::string path = Folder() + "/" + kChunksFile;
    {
      const SafetensorsReader file(path);
      metadata = file.metadata();
      for (const SafetensorsEntry& entry : file.entries()) {
        entries.push_back({entry.name, entry.dtype, entry.shape});
        bytes.push_back(file.ReadBytes(entry));
        if (entry.name != "shared") continue;
        std::memcpy(bytes.back().data() + sizeof(float), &bad, sizeof(float));
      }
    }
    SafetensorsWriter file(path, entries, metadata);
    for (const auto& each : bytes) file.Write(each.data(), each.size());
    file.Finish();
  };
  for (const char* const mode : {"SPARSE", "LOW_RANK"}) {
    for (const float bad : {NAN, INFINITY, 0.f, 1.5f, 1e9f}) {
      RunLocal(2, 60, [&](Communicator* comm) {
        Rank rank(comm, mode, kChunkSize, 700);
        rank.Fill();
        rank.Save();
        comm->Barrier("saved");
        if (comm->rank() == 0) damage(bad);
        std::string error;
        try {
          Rank(comm, mode, kChunkSize, 700).Load(2);
        } catch (const UserError& e) {
          error = e.what();
        }
        // A factor may be any number; a chunk waits for whole steps.
        const bool refused = !std::isfinite(bad) || mode == std::string("SPARSE");
        EXPECT_EQ(error.find("shared[1] is ") != std::string::npos, refused) << mode << error;
      });
    }
  }
}

TEST_F(ResidualsTest, ChunksThatCannotBeAreRefused) {
  Save(1);
  std::map<std::string, std::string> metadata;
  {
    const SafetensorsReader file(Folder() + "/" + kChunksFile);
    metadata = file.metadata();
  }
  const auto write = [&](const std::string& dtype, const std::vector<int64_t>& chunks) {
    const int64_t count = static_cast<int64_t>(chunks.size());
    SafetensorsWriter file(Folder() + "/" + kChunksFile,
                           {{"important_chunks", dtype, Shape({count})}}, metadata);
    file.Write(chunks.data(), count * 8);
    file.Finish();
  };
  write("I64", {0, 5});
  EXPECT_EQ(LoadError(1, 1), "");
  for (const std::vector<int64_t>& chunks :
       std::vector<std::vector<int64_t>>{{-1}, {3, 3}, {4, 2}, {int64_t{1} << 40}, {INT64_MAX}}) {
    write("I64", chunks);
    EXPECT_NE(LoadError(1, 1).find("is out of place"), std::string::npos) << LoadError(1, 1);
  }
  write("F64", {0});
  EXPECT_NE(LoadError(1, 1).find("important_chunks"), std::string::npos);
  for (const char* number : {"", "x", "-5", "99999999999999999999"}) {
    metadata["pool"] = number;
    write("I64", {0});
    EXPECT_NE(LoadError(1, 1).find("\"pool\""), std::string::npos) << number;
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
  for (const auto& entry : fs::directory_iterator(Root())) {
    EXPECT_EQ(entry.path().filename(), ".lock");
  }
}

}  // namespace
}  // namespace gf
