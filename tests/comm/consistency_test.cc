#include "comm/consistency.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "comm/local/communicator.h"
#include "core/error.h"

namespace gf {
namespace {

using Items = std::vector<std::pair<std::string, std::string>>;

// Runs the check on ranks with these hosts and items; all must get the same message.
std::string Check(const std::vector<std::string>& hosts, const std::vector<Items>& items) {
  const auto ranks = NewLocalCommunicators(hosts, 60);
  std::vector<std::string> messages(hosts.size(), "no error");
  std::vector<std::thread> threads;
  for (size_t i = 0; i < hosts.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        CheckSameOnAllRanks(ranks[i].get(), items[i]);
      } catch (const UserError& e) {
        messages[i] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& message : messages) EXPECT_EQ(message, messages[0]);
  return messages[0];
}

TEST(ConsistencyTest, EqualListsPass) {
  const Items items = {{"net", "a"}, {"solver.base_lr", "0.1"}};
  EXPECT_EQ(Check({"a", "a", "b"}, {items, items, items}), "no error");
  EXPECT_EQ(Check({"a"}, {items}), "no error");
  EXPECT_EQ(Check({"a", "b"}, {{}, {}}), "no error");
}

TEST(ConsistencyTest, EveryRankIsToldNameValuesRanksAndHosts) {
  const Items usual = {{"net", "a"}, {"solver.base_lr", "0.1"}};
  const Items other = {{"net", "a"}, {"solver.base_lr", "0.2"}};
  const std::string message = Check({"a", "a", "a", "b"}, {usual, usual, usual, other});
  EXPECT_EQ(message.find("ranks disagree on solver.base_lr: 0.1 on ranks 0-2 (host a), 0.2 on "
                         "rank 3 (host b)\n"),
            0u)
      << message;
  EXPECT_EQ(message.find("net:"), std::string::npos) << message;
}

TEST(ConsistencyTest, ASettingThatSomeRanksLackIsNamed) {
  const std::string message = Check({"a", "b"}, {{{"x", "1"}, {"y", "2"}}, {{"x", "1"}}});
  EXPECT_EQ(message.find("ranks disagree on y: 2 on rank 0 (host a), not set on rank 1 (host b)"),
            0u)
      << message;
}

TEST(ConsistencyTest, LongValuesThatDifferAtTheEndOnlyAreToldApart) {
  const std::string start(1000, 'x');
  const std::string message = Check({"a", "b"}, {{{"v", start + "1"}}, {{"v", start + "2"}}});
  EXPECT_EQ(message.find("ranks disagree on v: xxx"), 0u) << message;
  EXPECT_LT(message.size(), 500u);
}

TEST(ConsistencyTest, ManyDifferencesAreCutShort) {
  Items a, b;
  for (int i = 0; i < 100; ++i) {
    a.emplace_back("s" + std::to_string(i), "1");
    b.emplace_back("s" + std::to_string(i), "2");
  }
  const std::string message = Check({"a", "b"}, {a, b});
  EXPECT_NE(message.find("and on 88 more settings"), std::string::npos) << message;
}

TEST(ConsistencyTest, AnotherOrderIsADifference) {
  const std::string message =
      Check({"a", "b"}, {{{"x", "1"}, {"y", "2"}}, {{"y", "2"}, {"x", "1"}}});
  EXPECT_EQ(message.find("ranks disagree on the order"), 0u) << message;
}

}  // namespace
}  // namespace gf
