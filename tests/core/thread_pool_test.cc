#include "core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace gf {
namespace {

TEST(ThreadPoolTest, RunsEveryTask) {
  std::atomic<int> sum{0};
  std::promise<void> done;
  ThreadPool pool(3);
  EXPECT_EQ(pool.threads(), 3);
  for (int i = 1; i <= 100; ++i) {
    pool.Add([&, i] {
      if (sum.fetch_add(i) + i == 5050) done.set_value();
    });
  }
  done.get_future().wait();
  EXPECT_EQ(sum, 5050);
}

TEST(ThreadPoolTest, OneThreadKeepsTheOrder) {
  std::vector<int> order;
  std::promise<void> done;
  ThreadPool pool(1);
  for (int i = 0; i < 50; ++i) pool.Add([&, i] { order.push_back(i); });
  pool.Add([&] { done.set_value(); });
  done.get_future().wait();
  ASSERT_EQ(order.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[i], i);
}

TEST(ThreadPoolTest, DestructionFinishesRunningTasksAndDropsTheRest) {
  std::promise<void> started, go_on;
  std::atomic<bool> finished{false}, dropped_ran{false};
  std::thread release;
  {
    ThreadPool pool(1);
    pool.Add([&] {
      started.set_value();
      go_on.get_future().wait();
      finished = true;
    });
    started.get_future().wait();
    pool.Add([&] { dropped_ran = true; });
    release = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      go_on.set_value();
    });
  }
  release.join();
  EXPECT_TRUE(finished);
  EXPECT_FALSE(dropped_ran);
}

}  // namespace
}  // namespace gf
