#include "solvers/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "solvers/checkpoint/class_names.h"
#include "solvers/checkpoint/pool_file.h"
#include "solvers/checkpoint/safetensors.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest()
      : folder_(::testing::TempDir() + "/checkpoint_test"),
        store_(TestStore()),
        solver_(NewSolver(store_.get())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const PoolEntry& entry : store_->layout().entries()) {
      for (int64_t i = 0; i < entry.count; ++i) {
        store_->gradient().as<float>()[entry.offset + i] = std::sin(static_cast<float>(i));
      }
    }
    UpdateScalars scalars;
    scalars.lr = 0.1;
    solver_->BeginStep(scalars);
    solver_->Update({{0, store_->layout().count()}});
    state_.step = 1234;
    state_.position = 5676;
    state_.epoch = 1.5;
    state_.seed = UINT64_MAX;
    state_.world = 3;
    state_.threads = 8;
    state_.solver = "SGD";
    state_.net = "test";
    state_.config = "name: \"caf\xe9\"";  // not UTF-8
  }

  static std::unique_ptr<Solver> NewSolver(ParameterStore* store) {
    SolverConfig config;
    return gf::NewSolver("solver", "SGD", config, store);
  }

  void Write() { WriteCheckpointFiles(folder_, state_, *store_, *solver_); }

  std::string LoadError(ParameterStore* store, const Solver* solver,
                        const std::string& type = "SGD") {
    try {
      LoadCheckpoint(folder_, type, store, solver);
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  }

  std::string folder_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Solver> solver_;
  TrainingState state_;
};

TEST_F(CheckpointTest, StateTravelsAsText) {
  state_.config = "name: \"small\"";
  state_.last_lr = 0.1 / 3;
  state_.residual_ranks = 3;
  const TrainingState state = ParseTrainingState(ToText(state_), "text");
  EXPECT_EQ(ToText(state), ToText(state_));
  EXPECT_EQ(state.last_lr, 0.1 / 3);
  EXPECT_EQ(state.residual_ranks, 3);
  EXPECT_EQ(ToText(ParseTrainingState(ToText(TrainingState()), "text")), ToText(TrainingState()));
  EXPECT_THROW(ParseTrainingState("{", "text"), UserError);
  EXPECT_THROW(ParseTrainingState("{}", "text"), UserError);
}

TEST_F(CheckpointTest, HoldsTheNamesOfTheClasses) {
  state_.class_names = {"ant", "a \"b\"\n", "\xc3\xa9"};
  Write();
  EXPECT_EQ(VerifyCheckpoint(folder_).class_names, state_.class_names);
  std::string text = ToText(state_);
  text.replace(text.find("\"ant\""), 5, "1");
  EXPECT_THROW(ParseTrainingState(text, "text"), UserError);
}

TEST_F(CheckpointTest, HoldsTheNetForPredictions) {
  const std::string file = folder_ + "/net.prototxt";
  Write();
  EXPECT_FALSE(fs::exists(file));
  VerifyCheckpoint(folder_);
  using Files = std::map<std::string, std::string>;
  const Files files = {{kNetFile, "name: \"small\"\n"}, {kMeanFile, std::string("\0mean", 5)}};
  state_.prediction_files = std::make_shared<Files>(files);
  Write();
  for (const auto& [name, content] : files) {
    std::ifstream stream(folder_ + "/" + name);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), content);
  }
  EXPECT_EQ(VerifyCheckpoint(folder_).prediction_files, nullptr);
  std::ofstream(file) << "name: \"other\"\n";
  EXPECT_NE(LoadError(store_.get(), solver_.get()).find("net.prototxt: its checksum is wrong"),
            std::string::npos);
  fs::remove(file);
  EXPECT_NE(LoadError(store_.get(), solver_.get()).find("net.prototxt"), std::string::npos);
}

TEST_F(CheckpointTest, NamesThatItCannotHoldAreLeftOutWithARemark) {
  std::string note;
  const auto take = [&](const std::string& text) { note = text; };
  EXPECT_EQ(StorableClassNames({"ant"}, take).size(), 1u);
  EXPECT_EQ(note, "");
  EXPECT_TRUE(StorableClassNames({"caf\xe9"}, take).empty());
  EXPECT_NE(note.find("not all UTF-8"), std::string::npos);
  EXPECT_TRUE(
      StorableClassNames(std::vector<std::string>(100000, "a name of some length"), take).empty());
  EXPECT_NE(note.find("more than 1048576 bytes"), std::string::npos);
}

TEST_F(CheckpointTest, BringsBackEveryBit) {
  Write();
  auto store = std::make_unique<ParameterStore>(TestDevice(), store_->layout(),
                                                store_->state_layout(), DType::kFP32, true);
  auto solver = NewSolver(store.get());
  const uint64_t version = store->version();
  const TrainingState state = LoadCheckpoint(folder_, "SGD", store.get(), solver.get());
  EXPECT_EQ(state.step, 1234);
  EXPECT_EQ(state.position, 5676);
  EXPECT_EQ(state.epoch, 1.5);
  EXPECT_EQ(state.seed, UINT64_MAX);
  EXPECT_EQ(state.world, 3);
  EXPECT_EQ(state.threads, 8);
  EXPECT_EQ(Values(*store, store->master(), store->layout()),
            Values(*store_, store_->master(), store_->layout()));
  EXPECT_EQ(Values(*store, store->states(), store->state_layout()),
            Values(*store_, store_->states(), store_->state_layout()));
  EXPECT_EQ(Values(*store, solver->State()[0].second, store->layout()),
            Values(*store_, solver_->State()[0].second, store_->layout()));
  EXPECT_NE(store->version(), version);
}

TEST_F(CheckpointTest, WritesTheComputePoolToo) {
  Write();
  auto store = std::make_unique<ParameterStore>(TestDevice(), store_->layout(),
                                                store_->state_layout(), DType::kBF16, true);
  LoadCheckpoint(folder_, "SGD", store.get(), nullptr);
  const int64_t at = store->layout().entries()[1].offset;
  EXPECT_EQ(store->compute().as<uint16_t>()[at], ToBF16(store_->master().as<float>()[at]));
}

TEST_F(CheckpointTest, HasTheTensorsThatTorchvisionWants) {
  Write();
  SafetensorsReader file(folder_ + "/weights.safetensors");
  ASSERT_NE(file.Find("bn.num_batches_tracked"), nullptr);
  EXPECT_EQ(file.Find("bn.num_batches_tracked")->dtype, "I64");
  EXPECT_EQ(file.Find("bn.num_batches_tracked")->shape.rank(), 0);
  int64_t tracked = 0;
  std::memcpy(&tracked, file.ReadBytes(*file.Find("bn.num_batches_tracked")).data(), 8);
  EXPECT_EQ(tracked, 1234);
  EXPECT_NE(file.Find("bn.running_var"), nullptr);
  EXPECT_EQ(file.Find("conv.weight")->shape, Shape({7, 3, 5, 5}));
}

TEST_F(CheckpointTest, NamesTheFileThatIsDamaged) {
  for (const char* name : {"weights.safetensors", "optimizer.safetensors", "state.json"}) {
    Write();
    std::fstream file(folder_ + "/" + name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(100);
    const int byte = file.get();
    file.seekp(100);
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    const std::string error = LoadError(store_.get(), solver_.get());
    EXPECT_NE(error.find(name), std::string::npos) << error;
  }
}

TEST_F(CheckpointTest, RefusesTruncatedAndMissingFiles) {
  for (const char* name : {"weights.safetensors", "optimizer.safetensors", "state.json"}) {
    Write();
    const std::string file = folder_ + "/" + name;
    fs::resize_file(file, fs::file_size(file) - 5);
    EXPECT_NE(LoadError(store_.get(), solver_.get()).find(name), std::string::npos) << name;
    fs::remove(file);
    EXPECT_NE(LoadError(store_.get(), solver_.get()).find(name), std::string::npos) << name;
  }
}

TEST_F(CheckpointTest, RefusesAStateOfWrongTypes) {
  for (const char* text : {"", "[]", "{}", "{\"format\":\"x\"}", "{\"format\":1}",
                           "{\"format\":2,\"xxh3\":\"0\"}", "{\"format\":1,\"xxh3\":\"0\"}"}) {
    Write();
    std::ofstream(folder_ + "/state.json") << text;
    EXPECT_NE(LoadError(store_.get(), solver_.get()), "") << text;
  }
}

TEST_F(CheckpointTest, AnotherNetIsRefusedByName) {
  Write();
  auto other = TestStore(DType::kFP32, 11);
  const std::vector<float> before = Values(*other, other->master(), other->layout());
  const std::string error = LoadError(other.get(), nullptr);
  EXPECT_NE(error.find("2 of another shape: fc.bias (file 10, net 11)"), std::string::npos)
      << error;
  EXPECT_EQ(Values(*other, other->master(), other->layout()), before);

  PoolLayout layout;
  layout.Add(TestEntry("fc.bias", Shape({10})));
  layout.Add(TestEntry("fc2.weight", Shape({10, 33})));
  ParameterStore third(TestDevice(), layout, PoolLayout(), DType::kFP32, true);
  const std::string names = LoadError(&third, nullptr);
  EXPECT_NE(names.find("1 missing in the file: fc2.weight"), std::string::npos) << names;
  EXPECT_NE(names.find("5 that the net does not have"), std::string::npos) << names;
}

TEST_F(CheckpointTest, AnotherSolverIsRefused) {
  Write();
  const std::string error = LoadError(store_.get(), solver_.get(), "LARS");
  EXPECT_NE(error.find("solver.type"), std::string::npos) << error;
  EXPECT_EQ(LoadError(store_.get(), nullptr, "LARS"), "");
}

TEST_F(CheckpointTest, NonFiniteWeightsAreNotWritten) {
  const PoolEntry& entry = store_->layout().entries()[3];
  store_->master().as<float>()[entry.offset + entry.count - 1] = NAN;
  try {
    Write();
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("conv.weight"), std::string::npos) << e.what();
  }
}

TEST_F(CheckpointTest, SizeIsForeseen) {
  Write();
  uint64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(folder_)) bytes += file.file_size();
  EXPECT_LE(bytes, CheckpointBytes(*store_, *solver_));
  EXPECT_GE(bytes, CheckpointBytes(*store_, *solver_) - (1 << 16));
}

TEST_F(CheckpointTest, ValuesThatNoTrainingLeavesAreNamed) {
  const auto error = [&](const Tensor& pool, const PoolEntry& entry, float value) {
    const std::string path = folder_ + "/odd.safetensors";
    float* const at = pool.as<float>() + entry.offset + 1;
    const float before = std::exchange(*at, value);
    WritePoolFile(path, *store_, WeightTensors(*store_), 0);
    *at = before;
    auto store = TestStore();
    try {
      LoadWeights(path, store.get());
    } catch (const UserError& e) {
      return std::string(e.what()).substr(path.size());
    }
    return std::string();
  };
  const PoolEntry& weight = store_->layout().entries()[0];
  const PoolLayout& states = store_->state_layout();
  const PoolEntry& variance = states.entries()[states.Find("bn.running_var")];
  const PoolEntry& mean = states.entries()[states.Find("bn.running_mean")];
  const std::string end = ": the file is damaged, or was written by training that had diverged";
  EXPECT_EQ(error(store_->master(), weight, NAN),
            ": " + weight.name + "[1] is nan, expected a finite number" + end);
  EXPECT_EQ(error(store_->master(), weight, -INFINITY),
            ": " + weight.name + "[1] is -inf, expected a finite number" + end);
  EXPECT_EQ(error(store_->states(), variance, -0.5f),
            ": bn.running_var[1] is -0.5, expected a variance, 0 or more" + end);
  EXPECT_EQ(error(store_->states(), variance, NAN),
            ": bn.running_var[1] is nan, expected a variance, 0 or more" + end);
  EXPECT_EQ(error(store_->states(), variance, 0), "");
  EXPECT_EQ(error(store_->states(), mean, -0.5f), "");
  EXPECT_EQ(error(store_->master(), weight, -0.5f), "");
  // Such statistics are not written in the first place.
  store_->states().as<float>()[variance.offset] = INFINITY;
  EXPECT_THROW(Write(), UserError);
}

}  // namespace
}  // namespace gf
