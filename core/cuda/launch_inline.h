#pragma once

// Launches kernels.

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/cuda/error.h"
#include "core/cuda/numbers_inline.h"
#include "core/dtype.h"

namespace gf {

constexpr int kThreads = 256;  // threads per block

// Number of blocks for `items` items, where each thread handles several in steps of the whole grid.
inline int BlocksFor(int64_t items) {
  constexpr int64_t kMost = 8192;  // several for each multiprocessor of any GPU
  return static_cast<int>(std::max<int64_t>(1, std::min(kMost, (items + kThreads - 1) / kThreads)));
}

// Number of blocks or threads in up to three dimensions.
struct Extent : dim3 {
  Extent(int64_t count) : dim3(static_cast<unsigned>(count)) {}
  Extent(const dim3& counts) : dim3(counts) {}
};

// Grid, block and stream of a launch, and its place in the source.
struct LaunchShape {
  LaunchShape(const Extent& blocks, const Extent& threads, cudaStream_t on,
              const char* file_name = __builtin_FILE(), int line_number = __builtin_LINE())
      : grid(blocks), block(threads), stream(on), file(file_name), line(line_number) {}

  dim3 grid, block;
  cudaStream_t stream;
  const char* file;
  int line;
};

// The syntax of CUDA compilers; the emulated GPU of the tests launches kernels in another way.
#ifndef GF_CALL_KERNEL
#define GF_CALL_KERNEL(kernel, shape, ...) \
  kernel<<<(shape).grid, (shape).block, 0, (shape).stream>>>(__VA_ARGS__)
#endif

// Launch({blocks, threads, stream}, Kernel<T>, arguments...) launches a kernel.
template <typename... Parameters, typename... Arguments>
void Launch(const LaunchShape& shape, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  GF_CALL_KERNEL(kernel, shape, static_cast<Parameters>(arguments)...);
  CheckCuda(cudaGetLastError(), "launch of a kernel", shape.file, shape.line);
}

// Calls f with a value of the C++ type for `type`: float, __half or __nv_bfloat16.
template <typename F>
void WithType(DType type, const F& f) {
  switch (type) {
    case DType::kFP32:
      return f(float());
    case DType::kFP16:
      return f(__half());
    case DType::kBF16:
      return f(__nv_bfloat16());
    default:
      throw std::logic_error(std::string("not a floating type: ") + Name(type));
  }
}

// Number of elements of T in the 16 bytes that a thread moves at once.
template <typename T>
constexpr int kPack = 16 / static_cast<int>(sizeof(T));

// The bounds allow 64 registers; without a number of blocks, ptxas spills registers to use at most
// 32.
template <int kCount, typename F>
__global__ void __launch_bounds__(kThreads, 4) ElementwiseKernel(int64_t count, F f) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t packs = count / kCount;
  // An unrolled loop would begin with a division to find the number of steps.
#pragma unroll 1
  for (int64_t i = first; i < packs; i += step) f.template Run<kCount>(i * kCount);
  if constexpr (kCount > 1) {
    const int64_t i = packs * kCount + first;
    if (i < count) f.template Run<1>(i);
  }
}

// Calls f.Run<n>(i) on the GPU for ranges [i, i + n) that cover [0, count). n is kCount for aligned
// i, and 1 at the end.
template <int kCount, typename F>
void Elementwise(int64_t count, const F& f, cudaStream_t stream) {
  if (count == 0) return;
  Launch({BlocksFor(count / kCount), kThreads, stream}, ElementwiseKernel<kCount, F>, count, f);
}

// Processes four elements at a time if all arrays of f begin at multiples of four elements,
// otherwise one.
template <typename F, typename... Elements>
void ElementwiseFrom(int64_t count, const F& f, cudaStream_t stream, const Elements*... arrays) {
  if (((reinterpret_cast<uintptr_t>(arrays) % (4 * sizeof(Elements)) == 0) && ...)) {
    Elementwise<4>(count, f, stream);
  } else {
    Elementwise<1>(count, f, stream);
  }
}

}  // namespace gf
