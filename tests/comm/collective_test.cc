// Every algorithm over threads, in every world size.
#include <gtest/gtest.h>

#include "comm/local/communicator.h"
#include "tests/comm/collective_checks.h"

namespace gf {
namespace {

class CollectiveTest : public testing::TestWithParam<int> {};

TEST_P(CollectiveTest, EveryAlgorithmSumsExactlyAndAlikeOnAllRanks) {
  RunLocal(GetParam(), 120, [](Communicator* comm) {
    CheckCollectives({0, 1, 2, 10, 1000, 32001}, comm);
  });
}

TEST_P(CollectiveTest, LongVectorsTakeSeveralSegments) {
  RunLocal(GetParam(), 120, [](Communicator* comm) { CheckCollectives({1 << 20}, comm); });
}

INSTANTIATE_TEST_SUITE_P(Ranks, CollectiveTest, testing::Values(1, 2, 3, 4, 5, 7, 8, 13, 16));

// Several hosts, ranks of one host not side by side.
TEST(CollectiveTest, HostsWithDifferentNumbersOfRanks) {
  for (const std::vector<std::string>& hosts : {std::vector<std::string>{"a", "a", "b", "b"},
                                                {"a", "b", "a", "b", "a", "b"},
                                                {"a", "a", "b", "c", "c", "c", "a"}}) {
    RunLocal(hosts, 120, [](Communicator* comm) { CheckCollectives({2, 1000, 70000}, comm); });
  }
}

TEST(CollectiveTest, SeveralMayBeUnderWay) {
  RunLocal(3, 120, [](Communicator* comm) {
    constexpr int kMany = 20;
    std::vector<std::vector<float>> vectors;
    std::vector<std::shared_ptr<Pending>> pending;
    for (int i = 0; i < kMany; ++i) vectors.emplace_back(1000 * i, static_cast<float>(i));
    for (auto& v : vectors) {
      pending.push_back(
          comm->Start({Collective::kAllReduce, v.data(), static_cast<int64_t>(v.size()),
                       DType::kFP32, DType::kBF16, pending.size() % 2 ? "ring" : "double_tree"},
                      "one of many"));
    }
    for (int i = kMany - 1; i >= 0; --i) {
      pending[i]->Wait();
      for (float value : vectors[i]) ASSERT_EQ(value, 3.f * static_cast<float>(i));
    }
  });
}

}  // namespace
}  // namespace gf
