#include "solvers/checkpoint/pool_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "solvers/checkpoint/safetensors.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

class TrackedBatchesTest : public testing::Test {
 protected:
  // A store whose batch norm has statistics that training does not change.
  static std::unique_ptr<ParameterStore> FixedStore() {
    const auto trained = TestStore();
    PoolLayout states;
    for (PoolEntry entry : trained->state_layout().entries()) {
      entry.fixed = true;
      states.Add(entry);
    }
    return std::make_unique<ParameterStore>(TestDevice(), trained->layout(), states, DType::kFP32,
                                            true);
  }

  void Write(const ParameterStore& store, int64_t steps) const {
    WritePoolFile(path_, store, WeightTensors(store), steps);
  }

  int64_t Tracked() const {
    const SafetensorsReader file(path_);
    int64_t batches = -1;
    std::memcpy(&batches, file.ReadBytes(*file.Find("bn.num_batches_tracked")).data(),
                sizeof(batches));
    return batches;
  }

  const std::string path_ = testing::TempDir() + "/weights.safetensors";
};

TEST_F(TrackedBatchesTest, CountTheStepsOfTraining) {
  const auto store = TestStore();
  Write(*store, 1234);
  EXPECT_EQ(Tracked(), 1234);
  LoadWeights(path_, store.get());
  Write(*store, 5);
  EXPECT_EQ(Tracked(), 5);
}

TEST_F(TrackedBatchesTest, OfFixedStatisticsStayAsTheFileHasThem) {
  Write(*TestStore(), 1234);
  for (const int steps : {5, 6}) {
    const auto store = FixedStore();
    if (steps == 5) {
      LoadWeights(path_, store.get());
    } else {
      LoadMatchingWeights(path_, {"fc.*"}, store.get());
    }
    Write(*store, steps);
    EXPECT_EQ(Tracked(), 1234);
  }
  const auto skipping = FixedStore();
  LoadMatchingWeights(path_, {"bn.*"}, skipping.get());
  Write(*skipping, 7);
  EXPECT_EQ(Tracked(), 0) << "the statistics are not the file's";
}

TEST_F(TrackedBatchesTest, OfAnotherTypeSayNothing) {
  const auto store = FixedStore();
  std::vector<SafetensorsEntry> entries;
  for (const PoolTensor& tensor : WeightTensors(*store)) {
    entries.push_back({tensor.name, "F32", tensor.entry->shape});
  }
  entries.push_back({"bn.num_batches_tracked", "I32", Shape()});
  SafetensorsWriter file(path_, entries, {});
  for (const PoolTensor& tensor : WeightTensors(*store)) {
    const std::vector<float> zeros(static_cast<size_t>(tensor.entry->shape.count()));
    file.Write(zeros.data(), zeros.size() * sizeof(float));
  }
  const int32_t batches = 9;
  file.Write(&batches, sizeof(batches));
  file.Finish();
  LoadWeights(path_, store.get());
  EXPECT_EQ(store->tracked_batches("bn"), 0);
}

}  // namespace
}  // namespace gf
