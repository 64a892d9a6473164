// What the emulated GPU finds wrong, and what it does right.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "core/cuda/error.h"
#include "tests/emulated_gpu/blocks.h"
#include "tests/emulated_gpu/kernels_for_test.h"
#include "tests/emulated_gpu/threads.h"

namespace gf {
namespace {

constexpr int kCount = 256;

class EmulatedGpuTest : public testing::Test {
 protected:
  // Kernels may run on threads, which a forked process lacks.
  EmulatedGpuTest() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  int* Ints(int count) {
    kept_.push_back(device_.Allocate(count * sizeof(int)));
    return static_cast<int*>(kept_.back().get());
  }
  std::vector<int> Get(const int* data) {
    std::vector<int> values(kCount);
    device_.CopyToHost(data, values.data(), kCount * sizeof(int), device_.compute_stream());
    return values;
  }
  static std::vector<int> Numbers() {
    std::vector<int> values(kCount);
    std::iota(values.begin(), values.end(), 0);
    return values;
  }
  cudaStream_t stream() { return RawStream(device_.compute_stream()); }

  CudaDevice device_;
  std::vector<std::shared_ptr<void>> kept_;
};

TEST_F(EmulatedGpuTest, WorkIsDoneWhenSomebodyWaits) {
  int* const data = Ints(kCount);
  const auto pinned = AllocatePinned(kCount * sizeof(int));
  auto* const host = static_cast<int*>(pinned.get());
  host[1] = 7;
  Number(data, 0, stream());
  GF_CUDA(cudaMemcpyAsync(host, data, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream()));
  EXPECT_EQ(host[1], 7);
  device_.compute_stream()->Synchronize();
  EXPECT_EQ(host[1], 1);
}

TEST_F(EmulatedGpuTest, ACopyReadsPageLockedMemoryWhenItsTurnComes) {
  int* const data = Ints(kCount);
  const auto pinned = AllocatePinned(kCount * sizeof(int));
  auto* const host = static_cast<int*>(pinned.get());
  std::vector<int> pageable(kCount, 1);
  std::fill_n(host, kCount, 1);
  const size_t bytes = kCount * sizeof(int);
  GF_CUDA(cudaMemcpyAsync(data, pageable.data(), bytes, cudaMemcpyHostToDevice, stream()));
  pageable[0] = 2;
  EXPECT_EQ(Get(data)[0], 1);
  GF_CUDA(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, stream()));
  host[0] = 2;
  EXPECT_EQ(Get(data)[0], 2);
}

TEST_F(EmulatedGpuTest, StreamsWaitForEachOthersEventsOnly) {
  int* const data = Ints(kCount);
  CudaStream other(/*urgent=*/false);
  Number(data, 0, stream());
  const auto numbered = device_.compute_stream()->Record();
  // Overtakes what the other stream does later.
  Reverse(data, true, stream());
  other.WaitFor(numbered.get());
  std::vector<int> values(kCount);
  const auto pinned = AllocatePinned(kCount * sizeof(int));
  GF_CUDA(cudaMemcpyAsync(pinned.get(), data, kCount * sizeof(int), cudaMemcpyDeviceToHost,
                          other.get()));
  other.Synchronize();
  std::memcpy(values.data(), pinned.get(), kCount * sizeof(int));
  EXPECT_EQ(values, Numbers());
}

TEST_F(EmulatedGpuTest, WhatLacksABarrierDependsOnTheOrder) {
  if (emulated::UsesThreads()) GTEST_SKIP() << "real threads have no order";
  std::vector<int> reversed = Numbers();
  std::reverse(reversed.begin(), reversed.end());
  bool right = true;
  for (const bool backwards : {false, true}) {
    emulated::SetBackwards(backwards);
    int* const data = Ints(kCount);
    Number(data, 0, stream());
    Reverse(data, true, stream());
    EXPECT_EQ(Get(data), reversed);
    Reverse(data, false, stream());
    right = right && Get(data) == Numbers();
  }
  emulated::SetBackwards(false);
  EXPECT_FALSE(right);
}

TEST_F(EmulatedGpuTest, AddsUpOverABlock) {
  std::vector<float> values(kCount);
  std::iota(values.begin(), values.end(), 1.f);
  int* const data = Ints(kCount);
  int* const sum = Ints(1);
  device_.CopyFromHost(values.data(), data, kCount * sizeof(float), device_.compute_stream());
  Sum(reinterpret_cast<float*>(data), reinterpret_cast<float*>(sum), stream());
  float total = 0;
  device_.CopyToHost(sum, &total, sizeof(total), device_.compute_stream());
  EXPECT_EQ(total, kCount * (kCount + 1) / 2);
}

TEST_F(EmulatedGpuTest, AGraphDoesTheSameAgain) {
  int* const data = Ints(kCount);
  Number(data, 0, stream());
  const auto recording = device_.Record([&] { Reverse(data, true, stream()); });
  ASSERT_NE(recording, nullptr);
  EXPECT_EQ(Get(data), Numbers());
  recording->Replay();
  EXPECT_NE(Get(data), Numbers());
  recording->Replay();
  EXPECT_EQ(Get(data), Numbers());
}

TEST_F(EmulatedGpuTest, WhatWaitsCannotBeCaptured) {
  EXPECT_EQ(device_.Record([&] { device_.compute_stream()->Synchronize(); }), nullptr);
  int* const data = Ints(kCount);
  EXPECT_EQ(device_.Record([&] { Get(data); }), nullptr);
}

TEST_F(EmulatedGpuTest, RefusesBlocksThatAreTooLarge) {
  Nothing(1024, stream());
  try {
    Nothing(1025, stream());
    FAIL();
  } catch (const CudaError& e) {
    EXPECT_NE(std::string(e.what()).find("kernels_for_test.cu"), std::string::npos) << e.what();
  }
}

TEST_F(EmulatedGpuTest, EndsWhenAKernelWritesBesideItsMemory) {
  EXPECT_DEATH(
      {
        Number(Ints(kCount), 1, stream());
        device_.compute_stream()->Synchronize();
      },
      "written beside an allocation of 1024 bytes|use-after-poison");
}

TEST_F(EmulatedGpuTest, EndsWhenAKernelReadsBesideItsMemory) {
#ifndef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "NOT TESTED: seen with --config=asan only";
#endif
  EXPECT_DEATH(
      {
        int* const sum = Ints(1);
        Sum(reinterpret_cast<float*>(Ints(kCount / 2)), reinterpret_cast<float*>(sum), stream());
        device_.compute_stream()->Synchronize();
      },
      "use-after-poison");
}

TEST_F(EmulatedGpuTest, EndsWhenAnAddressIsNoMultipleOfWhatIsMoved) {
  auto* const data = reinterpret_cast<float*>(Ints(kCount));
  MoveFour(data + 4, stream());
  device_.compute_stream()->Synchronize();
  EXPECT_DEATH(
      {
        MoveFour(data + 2, stream());
        device_.compute_stream()->Synchronize();
      },
      "");
}

TEST_F(EmulatedGpuTest, EndsWhenTheHostReadsTheGpusMemory) {
  const volatile int* const data = Ints(kCount);
  EXPECT_DEATH({ [[maybe_unused]] const int value = *data; }, "");
}

TEST_F(EmulatedGpuTest, EndsWhenThreadsWaitForDifferentThings) {
  EXPECT_DEATH(
      {
        WaitInVain(stream());
        device_.compute_stream()->Synchronize();
      },
      "wait for different things");
}

}  // namespace
}  // namespace gf
