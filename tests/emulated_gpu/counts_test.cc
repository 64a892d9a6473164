// What the emulated GPU counts.

#include "tests/emulated_gpu/counts.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "core/cuda/error.h"
#include "core/cuda/matmul.h"
#include "layers/cuda/cudnn/convolution_graph.h"
#include "layers/cuda/cudnn/graph.h"
#include "tests/emulated_gpu/kernels_for_test.h"

namespace gf {
namespace {

using emulated::Counts;
using emulated::Now;

constexpr size_t kBytes = 1024;

class CountsTest : public testing::Test {
 protected:
  // What `work` adds to a count.
  template <typename F>
  static int64_t Added(int64_t Counts::*field, const F& work) {
    const int64_t before = Now().*field;
    work();
    return Now().*field - before;
  }

  CudaDevice device_;
  const std::shared_ptr<void> gpu_ = device_.Allocate(kBytes);
  const std::shared_ptr<void> pinned_ = AllocatePinned(kBytes);
  const cudaStream_t stream_ = RawStream(device_.compute_stream());
  int* const data_ = static_cast<int*>(gpu_.get());
};

TEST_F(CountsTest, CountsKernelsWhenTheyAreLaunched) {
  const Counts before = Now();
  Number(data_, 0, stream_);
  Reverse(data_, true, stream_);
  EXPECT_EQ(Now().kernels - before.kernels, 2);
  EXPECT_EQ(Added(&Counts::kernels, [&] { device_.compute_stream()->Synchronize(); }), 0);
  EXPECT_EQ(Now().copies, before.copies);
  EXPECT_EQ(Now().memsets, before.memsets);
}

TEST_F(CountsTest, CountsCopiesOfAllKinds) {
  const std::shared_ptr<void> other = device_.Allocate(kBytes);
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind) {
    return Added(&Counts::copies,
                 [&] { GF_CUDA(cudaMemcpyAsync(to, from, kBytes, kind, stream_)); });
  };
  EXPECT_EQ(copy(gpu_.get(), pinned_.get(), cudaMemcpyHostToDevice), 1);
  EXPECT_EQ(copy(other.get(), gpu_.get(), cudaMemcpyDeviceToDevice), 1);
  EXPECT_EQ(copy(pinned_.get(), other.get(), cudaMemcpyDeviceToHost), 1);
  std::vector<char> pageable(kBytes);
  EXPECT_EQ(copy(gpu_.get(), pageable.data(), cudaMemcpyHostToDevice), 1);
  EXPECT_EQ(copy(pageable.data(), gpu_.get(), cudaMemcpyDeviceToHost), 1);
}

TEST_F(CountsTest, CountsMemsets) {
  EXPECT_EQ(Added(&Counts::memsets, [&] { device_.Zero(data_, kBytes, device_.compute_stream()); }),
            1);
}

TEST_F(CountsTest, CountsProducts) {
  const auto product = Matmul::Find({2, 3, 4}, DType::kFP32, false);
  ASSERT_NE(product, nullptr);
  EXPECT_EQ(Added(&Counts::matmuls,
                  [&] {
                    float* const d = reinterpret_cast<float*>(data_);
                    product->Run(d, d + 16, nullptr, d + 32, d + 64, stream_);
                    device_.compute_stream()->Synchronize();
                  }),
            1);
}

TEST_F(CountsTest, CountsExecutionsOfCudnn) {
  ConvolutionShape shape;
  shape.n = shape.channels = shape.outputs = 1;
  for (const int i : {0, 1}) {
    shape.in[i] = shape.out[i] = 3;
    shape.kernel[i] = shape.stride[i] = shape.dilation[i] = 1;
  }
  const auto graph = NewConvolutionGraph(ConvolutionPass::kForward, shape, DType::kFP32, {});
  ASSERT_NE(graph, nullptr);
  const auto plans = FindPlans(graph->operations, {true, 1 << 20});
  ASSERT_FALSE(plans.empty());
  const std::shared_ptr<void> workspace = device_.Allocate(plans[0]->workspace_bytes);
  const std::vector<void*> memory = {data_, data_ + 16, data_ + 32};
  EXPECT_EQ(Added(&Counts::cudnn,
                  [&] {
                    ASSERT_TRUE(ExecutePlan(*plans[0], {kImagesId, kFiltersId, kResultsId}, memory,
                                            workspace.get()));
                    device_.compute_stream()->Synchronize();
                  }),
            1);
}

TEST_F(CountsTest, CountsTheWorkOfAGraphInEachLaunch) {
  const Counts before = Now();
  const auto recording = device_.Record([&] {
    device_.Zero(data_, kBytes, device_.compute_stream());
    Number(data_, 0, stream_);
    Reverse(data_, true, stream_);
  });
  ASSERT_NE(recording, nullptr);
  EXPECT_EQ(Now().kernels, before.kernels);
  EXPECT_EQ(Now().graph_launches, before.graph_launches);
  recording->Replay();
  recording->Replay();
  EXPECT_EQ(Now().kernels - before.kernels, 4);
  EXPECT_EQ(Now().memsets - before.memsets, 2);
  EXPECT_EQ(Now().graph_launches - before.graph_launches, 2);
}

TEST_F(CountsTest, CountsWaitsForWorkThatIsNotDone) {
  const auto waits = [](const auto& work) { return Added(&Counts::host_waits, work); };
  const auto enqueue = [&] { Number(data_, 0, stream_); };
  const auto synchronize = [&] { device_.compute_stream()->Synchronize(); };

  EXPECT_EQ(waits(enqueue), 0);
  EXPECT_EQ(waits(synchronize), 1);
  EXPECT_EQ(waits(synchronize), 0);

  enqueue();
  const auto event = device_.compute_stream()->Record();
  EXPECT_EQ(waits([&] { event->Wait(); }), 1);
  EXPECT_EQ(waits([&] { event->Wait(); }), 0);
  EXPECT_EQ(waits(synchronize), 0);

  enqueue();
  EXPECT_EQ(waits([] { GF_CUDA(cudaDeviceSynchronize()); }), 1);
  EXPECT_EQ(waits(synchronize), 0);

  void* freed = nullptr;
  GF_CUDA(cudaMalloc(&freed, kBytes));
  enqueue();
  EXPECT_EQ(waits([&] { GF_CUDA(cudaFree(freed)); }), 1);
  GF_CUDA(cudaHostAlloc(&freed, kBytes, cudaHostAllocDefault));
  enqueue();
  EXPECT_EQ(waits([&] { GF_CUDA(cudaFreeHost(freed)); }), 1);
}

TEST_F(CountsTest, CopiesOfPageableMemoryAreWaits) {
  std::vector<char> pageable(kBytes);
  const auto waits = [&](void* to, const void* from, cudaMemcpyKind kind) {
    return Added(&Counts::host_waits,
                 [&] { GF_CUDA(cudaMemcpyAsync(to, from, kBytes, kind, stream_)); });
  };
  EXPECT_EQ(waits(gpu_.get(), pageable.data(), cudaMemcpyHostToDevice), 1);
  EXPECT_EQ(waits(pageable.data(), gpu_.get(), cudaMemcpyDeviceToHost), 1);
  EXPECT_EQ(waits(gpu_.get(), pinned_.get(), cudaMemcpyHostToDevice), 0);
  EXPECT_EQ(waits(pinned_.get(), gpu_.get(), cudaMemcpyDeviceToHost), 0);
  device_.compute_stream()->Synchronize();
}

}  // namespace
}  // namespace gf
