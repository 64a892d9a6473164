#include "comm/sparse/cuda/chunk_kernels.h"
#include "core/cuda/launch_inline.h"

namespace gf {
namespace {

// Note [The processor's norms on a GPU]
// One block per chunk, so that sums need no atomic operations. Within a chunk magnitudes are added
// in the order of Note [Norms with the same bits]: a warp takes a block of kBlock elements, a lane
// one of its kSums partial sums in FP32, and the partial sums of all warps are added in double by
// one thread, in their order.
constexpr int kSums = 32, kWarps = kThreads / kSums;
constexpr int64_t kBlock = 128 * kSums;

// Calls store(i, value(i)) for i = begin, begin + kStep, ... below `end`, in this order. Values of
// several elements are loaded before the first is stored, which hides the memory's latency.
template <int kStep, typename Value, typename Store>
__device__ void ForElements(int64_t begin, int64_t end, const Value& value, const Store& store) {
  constexpr int kAhead = 8;
  int64_t i = begin;
  for (; i + (kAhead - 1) * kStep < end; i += kAhead * kStep) {
    float v[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) v[k] = value(i + k * kStep);
#pragma unroll
    for (int k = 0; k < kAhead; ++k) store(i + k * kStep, v[k]);
  }
  for (; i < end; i += kStep) store(i, value(i));
}

// The sum of |value(i)| over i = 0 .. count - 1, to every thread of the block; each value is stored
// on the way.
template <typename Value, typename Store>
__device__ double SumOfMagnitudes(int64_t count, const Value& value, const Store& store) {
  __shared__ float sums[kWarps][kSums];
  __shared__ double total;
  const int warp = threadIdx.x / kSums, lane = threadIdx.x % kSums;
  if (threadIdx.x == 0) total = 0;
  for (int64_t round = 0; round < count; round += kWarps * kBlock) {
    const int64_t begin = round + warp * kBlock;
    const int64_t end = min(begin + kBlock, count);
    float sum = 0;
    ForElements<kSums>(begin + lane, end, value, [&](int64_t i, float v) {
      store(i, v);
      sum += fabsf(v);
    });
    sums[warp][lane] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      double all = total;
      for (int w = 0; w < kWarps; ++w) {
        for (int k = 0; k < kSums; ++k) all += static_cast<double>(sums[w][k]);
      }
      total = all;
    }
    __syncthreads();
  }
  return total;
}

// g + h, and g itself where h is 0: -0 + 0 would be 0.
__device__ inline float Corrected(float g, float h) { return __float_as_uint(h) == 0 ? g : g + h; }

// The part of a span that this block handles: it lies in one chunk.
struct ChunkPart {
  int64_t chunk, begin, count;
  int64_t place;  // of its first element in `packed`, below 0 if the chunk is not important
};

__device__ inline ChunkPart PartOf(const ChunkArrays& a, const ChunkSpan& span) {
  ChunkPart part;
  part.chunk = span.begin / a.chunk_size + blockIdx.x;
  const int64_t chunk_begin = part.chunk * a.chunk_size;
  part.begin = max(span.begin, chunk_begin);
  part.count = min(span.end, chunk_begin + a.chunk_size) - part.begin;
  const int64_t place = a.places[part.chunk];
  part.place = place < 0 ? -1 : place + part.begin - chunk_begin;
  return part;
}

template <typename G, typename P>
__global__ void __launch_bounds__(kThreads) KeepOrPackKernel(ChunkArrays a, ChunkSpan span) {
  const ChunkPart part = PartOf(a, span);
  const G* const g = static_cast<const G*>(a.gradients) + part.begin;
  float* const h = a.residual + part.begin;
  if (part.place >= 0) {
    P* const packed = static_cast<P*>(a.packed) + part.place;
    ForElements<kThreads>(
        threadIdx.x, part.count, [=](int64_t i) { return Corrected(ToFloat(g[i]), h[i]); },
        [=](int64_t i, float v) {
          packed[i] = FromFloat<P>(v);
          h[i] = 0;
        });
    return;
  }
  const double norm = SumOfMagnitudes(
      part.count, [=](int64_t i) { return ToFloat(g[i]) + h[i]; },
      [=, momentum = a.momentum](int64_t i, float v) { h[i] = momentum * v; });
  if (threadIdx.x == 0) a.sums[part.chunk] += norm;
  if (isfinite(norm)) return;
  for (int64_t i = threadIdx.x; i < part.count; i += kThreads) h[i] = 0;
}

template <typename G, typename P>
__global__ void __launch_bounds__(kThreads) UnpackKernel(ChunkArrays a, ChunkSpan span) {
  const ChunkPart part = PartOf(a, span);
  if (part.place < 0) return;
  G* const g = static_cast<G*>(a.gradients) + part.begin;
  const P* const packed = static_cast<const P*>(a.packed) + part.place;
  const double norm = SumOfMagnitudes(
      part.count, [=](int64_t i) { return ToFloat(packed[i]); },
      [=](int64_t i, float v) { g[i] = FromFloat<G>(v); });
  if (threadIdx.x == 0) a.sums[part.chunk] += norm / a.world;
}

template <typename G>
__global__ void __launch_bounds__(kThreads) NormKernel(ChunkArrays a, ChunkSpan span) {
  const ChunkPart part = PartOf(a, span);
  const G* const g = static_cast<const G*>(a.gradients) + part.begin;
  const double norm = SumOfMagnitudes(
      part.count, [=](int64_t i) { return ToFloat(g[i]); }, [](int64_t, float) {});
  if (threadIdx.x == 0) a.sums[part.chunk] += norm / a.world;
}

template <typename G>
struct MergeRun {
  G* g;
  float* h;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> x = LoadFloats<kCount>(g + i), residual = LoadFloats<kCount>(h + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      x.v[k] = Corrected(x.v[k], residual.v[k]);
      residual.v[k] = 0;
    }
    StoreFloats(g + i, x);
    StoreFloats(h + i, residual);
  }
};

struct RescaleRun {
  float* h;
  float factor;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> x = LoadFloats<kCount>(h + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) x.v[k] *= factor;
    StoreFloats(h + i, x);
  }
};

struct RoundRun {
  const double* sums;
  float* norms;

  template <int kCount>
  __device__ void Run(int64_t i) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) norms[i + k] = static_cast<float>(sums[i + k]);
  }
};

// Blocks for a span that is not empty.
unsigned ChunksOf(const ChunkArrays& a, const ChunkSpan& span) {
  return static_cast<unsigned>((span.end - 1) / a.chunk_size - span.begin / a.chunk_size + 1);
}

// Calls f with a number of the gradients' type and one of the packed type.
template <typename F>
void WithTypes(const ChunkArrays& a, const F& f) {
  WithType(a.gradient_type, [&](auto gradient) {
    WithType(a.packed_type, [&](auto packed) { f(gradient, packed); });
  });
}

}  // namespace

void MergeResidual(const ChunkArrays& a, const ChunkSpan& span, cudaStream_t stream) {
  WithType(a.gradient_type, [&](auto gradient) {
    using G = decltype(gradient);
    const MergeRun<G> run = {static_cast<G*>(a.gradients) + span.begin, a.residual + span.begin};
    ElementwiseFrom(span.end - span.begin, run, stream, run.g, run.h);
  });
}

void KeepOrPackChunks(const ChunkArrays& a, const ChunkSpan& span, cudaStream_t stream) {
  if (span.begin >= span.end) return;
  WithTypes(a, [&](auto g, auto p) {
    Launch({ChunksOf(a, span), kThreads, stream}, KeepOrPackKernel<decltype(g), decltype(p)>, a,
           span);
  });
}

void UnpackChunks(const ChunkArrays& a, const ChunkSpan& span, cudaStream_t stream) {
  if (span.begin >= span.end) return;
  WithTypes(a, [&](auto g, auto p) {
    Launch({ChunksOf(a, span), kThreads, stream}, UnpackKernel<decltype(g), decltype(p)>, a, span);
  });
}

void AddChunkNorms(const ChunkArrays& a, const ChunkSpan& span, cudaStream_t stream) {
  if (span.begin >= span.end) return;
  WithType(a.gradient_type, [&](auto g) {
    Launch({ChunksOf(a, span), kThreads, stream}, NormKernel<decltype(g)>, a, span);
  });
}

void RoundNorms(const double* sums, int64_t chunks, float* norms, cudaStream_t stream) {
  Elementwise<1>(chunks, RoundRun{sums, norms}, stream);
}

void RescaleResidual(float* residual, int64_t count, float factor, cudaStream_t stream) {
  Elementwise<4>(count, RescaleRun{residual, factor}, stream);
}

}  // namespace gf
