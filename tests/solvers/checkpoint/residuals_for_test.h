#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "comm/local/communicator.h"
#include "core/error.h"
#include "solvers/checkpoint/residuals.h"
#include "solvers/checkpoint/safetensors.h"
#include "solvers/checkpoint/save.h"
#include "tests/solvers/store_for_test.h"

namespace gf {

namespace fs = std::filesystem;

constexpr int64_t kChunkSize = 100;
inline const std::vector<int64_t> kImportant = {0, 2, 3, 8};

inline std::string Root() { return ::testing::TempDir() + "/residuals_test"; }
inline std::string Folder() { return Root() + "/step-00000007"; }

// A rank's communicator, weights, solver and flow.
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

}  // namespace gf
