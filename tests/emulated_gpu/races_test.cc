// Kernels whose threads and blocks work at the same time: what is right stays so, and with
// --config=races a race is reported.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "tests/emulated_gpu/kernels_for_test.h"
#include "tests/emulated_gpu/shared_memory.h"

namespace gf {
namespace {

constexpr int kPart = 256, kParts = 16;

class RacesTest : public testing::Test {
 protected:
  RacesTest() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  std::vector<int> Get(int count) {
    std::vector<int> values(count);
    device_.CopyToHost(data_, values.data(), count * sizeof(int), device_.compute_stream());
    return values;
  }
  static std::vector<int> Numbers(int count) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), 0);
    return values;
  }
  void Set(const std::vector<int>& values) {
    device_.CopyFromHost(values.data(), data_, values.size() * sizeof(int),
                         device_.compute_stream());
  }
  // A program that runs this and then ends well; with a race it does not.
  template <typename F>
  void Run(const F& launch) {
    launch(data_, RawStream(device_.compute_stream()));
    device_.compute_stream()->Synchronize();
    std::exit(0);
  }

  CudaDevice device_;
  const std::shared_ptr<void> memory_ = device_.Allocate(kParts * kPart * sizeof(int));
  int* const data_ = static_cast<int*>(memory_.get());
  const cudaStream_t stream_ = RawStream(device_.compute_stream());
};

#ifdef GF_THREAD_SANITIZER
constexpr int kRaceExit = 66;  // ThreadSanitizer's
#define EXPECT_RACE(launch) \
  EXPECT_EXIT(Run(launch), testing::ExitedWithCode(kRaceExit), "ThreadSanitizer: data race")
#else
#define EXPECT_RACE(launch) GTEST_SKIP() << "NOT TESTED: seen with --config=races only"
#endif

TEST_F(RacesTest, ABarrierOrdersTheThreadsOfABlock) {
  Set(Numbers(kParts * kPart));
  // More often than crews of threads take turns.
  for (int i = 0; i < 9; ++i) ReverseParts(data_, kParts, stream_);
  std::vector<int> reversed = Numbers(kParts * kPart);
  for (int part = 0; part < kParts; ++part) {
    std::reverse(reversed.begin() + part * kPart, reversed.begin() + (part + 1) * kPart);
  }
  EXPECT_EQ(Get(kParts * kPart), reversed);
}

TEST_F(RacesTest, ABarrierThatIsMissingIsARace) {
  EXPECT_RACE([](int* data, cudaStream_t stream) { Reverse(data, false, stream); });
}

TEST_F(RacesTest, AnExchangeInAWarpOrdersNoMemory) {
  EXPECT_RACE([](int* data, cudaStream_t stream) { Swap(data, stream); });
}

TEST_F(RacesTest, BlocksThatWriteTheSameAreARace) {
  EXPECT_RACE([](int* data, cudaStream_t stream) { NumberParts(data, 2, 1, stream); });
}

TEST_F(RacesTest, BlocksFarFromEachOtherAreSeenAfterSomeLaunches) {
  EXPECT_RACE([](int* data, cudaStream_t stream) {
    for (int i = 0; i < 2; ++i) NumberParts(data, 4, 2, stream);
  });
}

TEST_F(RacesTest, BlocksThatWriteSideBySideAreNone) {
  NumberParts(data_, kParts, kParts, stream_);
  EXPECT_EQ(Get(kParts * kPart), Numbers(kParts * kPart));
}

TEST_F(RacesTest, FencesOrderBlocksThatCountThemselves) {
  Set(std::vector<int>(kParts + 2));
  for (int i = 0; i < 9; ++i) {
    AddInLastBlock(data_, kParts, true, stream_);
    EXPECT_EQ(Get(kParts + 2)[kParts], kParts);
    EXPECT_EQ(Get(kParts + 2)[kParts + 1], 0);
  }
}

TEST_F(RacesTest, AFenceThatIsMissingIsARace) {
  Set(std::vector<int>(kParts + 2));
  EXPECT_RACE([](int* data, cudaStream_t stream) { AddInLastBlock(data, kParts, false, stream); });
}

TEST_F(RacesTest, KernelsFollowEachOther) {
  for (int i = 0; i < 4; ++i) {
    Number(data_, 0, stream_);
    Reverse(data_, true, stream_);
  }
  std::vector<int> reversed = Numbers(kPart);
  std::reverse(reversed.begin(), reversed.end());
  EXPECT_EQ(Get(kPart), reversed);
}

TEST_F(RacesTest, ThreadsThatHaveEndedAreNotWaitedFor) {
  Set(Numbers(kPart));
  ReverseHalf(data_, stream_);
  std::vector<int> reversed = Numbers(kPart);
  std::reverse(reversed.begin(), reversed.begin() + kPart / 2);
  EXPECT_EQ(Get(kPart), reversed);
}

TEST_F(RacesTest, AtomicAdditionsOfAllThreadsAddUp) {
  Set({0});
  Count(data_, kParts, stream_);
  EXPECT_EQ(Get(1)[0], kParts * kPart);
}

}  // namespace
}  // namespace gf
