// What a step's calls over ranges put on the stream, and when they are replayed.

#include "solvers/cuda/range_calls.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/error.h"

namespace gf {
namespace {

class RangeCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = std::make_unique<CudaDevice>();
    } catch (const UserError& e) {
      GTEST_SKIP() << "NOT TESTED on a GPU: " << e.what();
    }
    for (int i = 0; i < 10; ++i) pieces_.push_back({10 * i, 10 * (i + 1), 0});
    calls_ = std::make_unique<RangeCalls>(device_.get(), &pieces_);
  }

  // A step with these calls; how many of them were enqueued rather than replayed.
  int Enqueued(const std::vector<std::vector<ElementRange>>& calls, bool record = true) {
    int enqueued = 0;
    calls_->BeginStep();
    for (const auto& ranges : calls) {
      calls_->Run(ranges, record, [&](const RangeList& list) {
        ++enqueued;
        list_ = list;
      });
    }
    return enqueued;
  }

  // What lies on the device for the call that was enqueued last.
  std::vector<ElementRange> Listed() const {
    int64_t count = 0;
    Stream* const stream = device_->compute_stream();
    device_->CopyToHost(list_.count, &count, sizeof(count), stream);
    std::vector<ElementRange> ranges(count);
    device_->CopyToHost(list_.ranges, ranges.data(), count * sizeof(ElementRange), stream);
    return ranges;
  }

  std::unique_ptr<CudaDevice> device_;
  std::vector<PoolPiece> pieces_;
  std::unique_ptr<RangeCalls> calls_;
  RangeList list_;
};

TEST_F(RangeCallsTest, AreRecordedInTheSecondStepAndReplayedFromThenOn) {
  const std::vector<std::vector<ElementRange>> buckets = {{{0, 35}}, {{35, 100}}};
  EXPECT_EQ(Enqueued(buckets), 2);
  EXPECT_EQ(calls_->recorded(), 0);
  EXPECT_EQ(Enqueued(buckets), 2);
  EXPECT_EQ(calls_->recorded(), 2);
  EXPECT_EQ(Enqueued(buckets), 0);
  EXPECT_EQ(Enqueued(buckets), 0);
}

TEST_F(RangeCallsTest, AreNotRecordedIfNotWanted) {
  for (int step = 0; step < 4; ++step) EXPECT_EQ(Enqueued({{{0, 100}}}, false), 1);
  EXPECT_EQ(calls_->recorded(), 0);
}

TEST_F(RangeCallsTest, StartForThePiecesThatARangeTouches) {
  Enqueued({{{19, 41}}});
  EXPECT_EQ(list_.first_piece, 1);
  EXPECT_EQ(list_.last_piece, 5);
  EXPECT_EQ(Listed(), (std::vector<ElementRange>{{19, 41}}));
}

TEST_F(RangeCallsTest, AListThatChangesIsReplayedWithItsNewRanges) {
  Enqueued({{{10, 20}, {30, 40}}});
  const auto longer = std::vector<ElementRange>{{0, 10}, {20, 30}, {50, 60}};
  EXPECT_EQ(Enqueued({longer}), 1);
  EXPECT_EQ(list_.first_piece, 0);
  EXPECT_EQ(list_.last_piece, 10);
  EXPECT_EQ(Listed(), longer);
  for (int64_t at = 0; at < 4; ++at) {
    const auto other = std::vector<ElementRange>{{at, at + 1}, {50, 50 + at}};
    EXPECT_EQ(Enqueued({other}), 0);
    EXPECT_EQ(Listed(), other);
  }
  // More than fit into its place.
  std::vector<ElementRange> many;
  for (int64_t at = 0; at < 40; ++at) many.push_back({2 * at, 2 * at + 1});
  EXPECT_EQ(Enqueued({many}), 1);
  EXPECT_EQ(Listed(), many);
  EXPECT_EQ(Enqueued({{}}), 0);
  EXPECT_EQ(Listed(), std::vector<ElementRange>());
}

}  // namespace
}  // namespace gf
