#include "comm/group_sum.h"

#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "comm/local/communicator.h"
#include "core/error.h"

namespace gf {
namespace {

// What rank r gets for the values {r + 1, 1e-3 * r, 1e20 * (r % 2)} in groups of `size`.
std::vector<std::vector<double>> Sums(int world, int size) {
  std::vector<std::vector<double>> sums(world);
  RunLocal(world, 20, [&](Communicator* comm) {
    const auto group = NewGroupSum(size, comm);
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(group->size(), size == 0 ? world : size);
    for (int round = 0; round < 2; ++round) {
      const int r = comm->rank();
      std::vector<double> values = {r + 1.0, 1e-3 * r, 1e20 * (r % 2)};
      group->Sum(values.data(), 3);
      sums[r] = values;
      double one = 1;
      group->Sum(&one, 1);
      EXPECT_EQ(one, group->size());
      group->Sum(nullptr, 0);
    }
  });
  return sums;
}

TEST(GroupSumTest, EachGroupHasItsOwnSums) {
  for (const auto& [world, size] :
       std::vector<std::pair<int, int>>{{2, 2}, {3, 0}, {4, 2}, {6, 3}, {6, 2}, {7, 7}, {8, 4}}) {
    const auto sums = Sums(world, size);
    const int members = size == 0 ? world : size;
    for (int r = 0; r < world; ++r) {
      double expected[3] = {0, 0, 0};
      for (int other = r / members * members; other < (r / members + 1) * members; ++other) {
        expected[0] += other + 1;
        expected[1] += 1e-3 * other;
        expected[2] += 1e20 * (other % 2);
      }
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(sums[r][i], expected[i]) << world << " " << size << " rank " << r;
      }
    }
  }
}

TEST(GroupSumTest, GroupsOfOneNeedNoSums) {
  RunLocal(2, 20, [](Communicator* comm) { EXPECT_EQ(NewGroupSum(1, comm), nullptr); });
  RunLocal(1, 20, [](Communicator* comm) { EXPECT_EQ(NewGroupSum(0, comm), nullptr); });
}

TEST(GroupSumTest, GroupsMustFillTheWorld) {
  RunLocal(4, 20, [](Communicator* comm) {
    EXPECT_THROW(NewGroupSum(3, comm), UserError);
    EXPECT_THROW(NewGroupSum(8, comm), UserError);
    EXPECT_THROW(NewGroupSum(-1, comm), UserError);
  });
}

}  // namespace
}  // namespace gf
