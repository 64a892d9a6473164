#pragma once

// How kernels are started.

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/cuda/error.h"
#include "core/cuda/numbers_inline.h"
#include "core/dtype.h"

namespace gf {

constexpr int kThreads = 256;  // of a block

// Blocks for `items` where each thread takes several in steps of the whole grid.
inline int BlocksFor(int64_t items) {
  constexpr int64_t kMost = 8192;  // some for each multiprocessor of any GPU
  return static_cast<int>(std::max<int64_t>(1, std::min(kMost, (items + kThreads - 1) / kThreads)));
}

// A number of blocks or threads, in one dimension or more.
struct Extent : dim3 {
  Extent(int64_t count) : dim3(static_cast<unsigned>(count)) {}
  Extent(const dim3& counts) : dim3(counts) {}
};

// Where and how a kernel runs, and who asks for it.
struct LaunchShape {
  LaunchShape(const Extent& blocks, const Extent& threads, cudaStream_t on,
              const char* file_name = __builtin_FILE(), int line_number = __builtin_LINE())
      : grid(blocks), block(threads), stream(on), file(file_name), line(line_number) {}

  dim3 grid, block;
  cudaStream_t stream;
  const char* file;
  int line;
};

// What a compiler of kernels understands; the tests' emulated GPU starts them in another way.
#ifndef GF_CALL_KERNEL
#define GF_CALL_KERNEL(kernel, shape, ...) \
  kernel<<<(shape).grid, (shape).block, 0, (shape).stream>>>(__VA_ARGS__)
#endif

// Launch({blocks, threads, stream}, Kernel<T>, arguments...) starts a kernel.
template <typename... Parameters, typename... Arguments>
void Launch(const LaunchShape& shape, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  GF_CALL_KERNEL(kernel, shape, static_cast<Parameters>(arguments)...);
  CheckCuda(cudaGetLastError(), "launch of a kernel", shape.file, shape.line);
}

// Calls f with a number of the type: float, __half or __nv_bfloat16.
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

// Elements of T in the 16 bytes that a thread moves at once.
template <typename T>
constexpr int kPack = 16 / static_cast<int>(sizeof(T));

// For up to 64 registers: without a number of blocks ptxas spills some to have no more than 32.
template <int kCount, typename F>
__global__ void __launch_bounds__(kThreads, 4) ElementwiseKernel(int64_t count, F f) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t packs = count / kCount;
  // Unrolled it would begin with a division that finds the number of steps.
#pragma unroll 1
  for (int64_t i = first; i < packs; i += step) f.template Run<kCount>(i * kCount);
  if constexpr (kCount > 1) {
    const int64_t i = packs * kCount + first;
    if (i < count) f.template Run<1>(i);
  }
}

// Calls f.Run<n>(i) on the GPU for elements [i, i + n) that cover [0, count); n is kCount, with
// i a multiple of it, and 1 at the end.
template <int kCount, typename F>
void Elementwise(int64_t count, const F& f, cudaStream_t stream) {
  if (count == 0) return;
  Launch({BlocksFor(count / kCount), kThreads, stream}, ElementwiseKernel<kCount, F>, count, f);
}

// Four elements at a time where all arrays that f moves begin at multiples of four, else singly.
template <typename F, typename... Elements>
void ElementwiseFrom(int64_t count, const F& f, cudaStream_t stream, const Elements*... arrays) {
  if (((reinterpret_cast<uintptr_t>(arrays) % (4 * sizeof(Elements)) == 0) && ...)) {
    Elementwise<4>(count, f, stream);
  } else {
    Elementwise<1>(count, f, stream);
  }
}

}  // namespace gf
