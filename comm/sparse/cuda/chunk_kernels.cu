#include "comm/sparse/cuda/chunk_kernels.h"
#include "comm/sparse/cuda/chunk_sums_inline.h"

namespace gf {
namespace {

// g + h, and g itself where h is 0: -0 + 0 would be 0.
__device__ inline float Corrected(float g, float h) { return __float_as_uint(h) == 0 ? g : g + h; }

// The part of a span that this block handles: it lies in one chunk.
struct ChunkPart {
  int64_t chunk, begin, count;
  int64_t place;  // of its first element in `packed`, below 0 if the chunk is not important
};

__device__ inline ChunkPart PartOf(const ChunkArrays& a, const ChunkSpan& span, int64_t first) {
  ChunkPart part;
  part.chunk = first + blockIdx.x;
  const int64_t chunk_begin = part.chunk * a.chunk_size;
  part.begin = max(span.begin, chunk_begin);
  part.count = min(span.end, chunk_begin + a.chunk_size) - part.begin;
  const int64_t place = a.places[part.chunk];
  part.place = place < 0 ? -1 : place + part.begin - chunk_begin;
  return part;
}

// Elements of which those of the wider type fill 16 bytes.
template <typename A, typename B>
constexpr int kPackOfBoth = 16 / static_cast<int>(sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B));

// Whether the array's packs of kCount elements lie at multiples of their size.
template <int kCount, typename T>
__device__ bool Aligned(const T* array) {
  return reinterpret_cast<uintptr_t>(array) % (kCount * sizeof(T)) == 0;
}

// packed = g + h, h = 0
template <typename G, typename P>
struct PackRun {
  static constexpr int kAhead = 8;
  const G* g;
  float* h;
  P* packed;

  template <int kCount>
  __device__ Floats<kCount> Load(int64_t i) const {
    Floats<kCount> v = LoadFloats<kCount>(g + i);
    const Floats<kCount> residual = LoadFloats<kCount>(h + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) v.v[k] = Corrected(v.v[k], residual.v[k]);
    return v;
  }
  template <int kCount>
  __device__ void Store(int64_t i, const Floats<kCount>& v) const {
    StoreFloats(packed + i, v);
    StoreFloats(h + i, Floats<kCount>());
  }
};

// h = momentum * (g + h)
template <typename G>
struct KeepRun {
  static constexpr int kAhead = 8;
  const G* g;
  float* h;
  float momentum;

  template <int kCount>
  __device__ Floats<kCount> Load(int64_t i) const {
    Floats<kCount> v = LoadFloats<kCount>(g + i);
    const Floats<kCount> residual = LoadFloats<kCount>(h + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) v.v[k] += residual.v[k];
    return v;
  }
  template <int kCount>
  __device__ void Store(int64_t i, Floats<kCount> v) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) v.v[k] *= momentum;
    StoreFloats(h + i, v);
  }
};

// to = from; `to` may be null.
template <typename From, typename To>
struct CopyRun {
  static constexpr int kAhead = 16;
  const From* from;
  To* to;

  template <int kCount>
  __device__ Floats<kCount> Load(int64_t i) const {
    return LoadFloats<kCount>(from + i);
  }
  template <int kCount>
  __device__ void Store(int64_t i, const Floats<kCount>& v) const {
    if (to != nullptr) StoreFloats(to + i, v);
  }
};

template <typename G, typename P>
__global__ void __launch_bounds__(kChunkThreads)
    KeepOrPackKernel(ChunkArrays a, ChunkSpan span, int64_t first) {
  const ChunkPart part = PartOf(a, span, first);
  const G* const g = static_cast<const G*>(a.gradients) + part.begin;
  float* const h = a.residual + part.begin;
  constexpr int kCount = kPack<float>;
  const bool packs = Aligned<kCount>(g) && Aligned<kCount>(h);
  if (part.place >= 0) {
    const PackRun<G, P> run = {g, h, static_cast<P*>(a.packed) + part.place};
    const auto none = [](int, float) {};
    if (packs && Aligned<kCount>(run.packed)) {
      ForPacks<kCount>(threadIdx.x * kCount, part.count, kChunkThreads * kCount, run, none);
    } else {
      ForPacks<1>(threadIdx.x, part.count, kChunkThreads, run, none);
    }
    return;
  }
  const KeepRun<G> run = {g, h, a.momentum};
  const double norm =
      packs ? SumOfMagnitudes<kCount>(part.count, run) : SumOfMagnitudes<1>(part.count, run);
  if (threadIdx.x == 0) a.sums[part.chunk] += norm;
  if (isfinite(norm)) return;
  for (int64_t i = threadIdx.x; i < part.count; i += kChunkThreads) h[i] = 0;
}

// Copies the numbers of a part and adds the norm that they have in one rank's share.
template <int kCount, typename From, typename To>
__device__ void CopyAndSum(const ChunkArrays& a, const ChunkPart& part,
                           const CopyRun<From, To>& run) {
  const double norm = Aligned<kCount>(run.from) && Aligned<kCount>(run.to)
                          ? SumOfMagnitudes<kCount>(part.count, run)
                          : SumOfMagnitudes<1>(part.count, run);
  if (threadIdx.x == 0) a.sums[part.chunk] += norm / a.world;
}

template <typename G, typename P>
__global__ void __launch_bounds__(kChunkThreads)
    UnpackKernel(ChunkArrays a, ChunkSpan span, int64_t first) {
  const ChunkPart part = PartOf(a, span, first);
  if (part.place < 0) return;
  const CopyRun<P, G> run = {static_cast<const P*>(a.packed) + part.place,
                             static_cast<G*>(a.gradients) + part.begin};
  CopyAndSum<kPackOfBoth<G, P>>(a, part, run);
}

template <typename G>
__global__ void __launch_bounds__(kChunkThreads)
    NormKernel(ChunkArrays a, ChunkSpan span, int64_t first) {
  const ChunkPart part = PartOf(a, span, first);
  const CopyRun<G, G> run = {static_cast<const G*>(a.gradients) + part.begin, nullptr};
  CopyAndSum<kPack<G>>(a, part, run);
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

struct RoundRun {
  const double* sums;
  float* norms;

  template <int kCount>
  __device__ void Run(int64_t i) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) norms[i + k] = static_cast<float>(sums[i + k]);
  }
};

// A block for each chunk of a span.
void LaunchChunks(void (*kernel)(ChunkArrays, ChunkSpan, int64_t), const ChunkArrays& a,
                  const ChunkSpan& span, cudaStream_t stream) {
  if (span.begin >= span.end) return;
  const int64_t first = span.begin / a.chunk_size, last = (span.end - 1) / a.chunk_size;
  Launch({last - first + 1, kChunkThreads, stream}, kernel, a, span, first);
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
  WithTypes(a, [&](auto g, auto p) {
    LaunchChunks(KeepOrPackKernel<decltype(g), decltype(p)>, a, span, stream);
  });
}

void UnpackChunks(const ChunkArrays& a, const ChunkSpan& span, cudaStream_t stream) {
  WithTypes(a, [&](auto g, auto p) {
    LaunchChunks(UnpackKernel<decltype(g), decltype(p)>, a, span, stream);
  });
}

void AddChunkNorms(const ChunkArrays& a, const ChunkSpan& span, cudaStream_t stream) {
  WithType(a.gradient_type,
           [&](auto g) { LaunchChunks(NormKernel<decltype(g)>, a, span, stream); });
}

void RoundNorms(const double* sums, int64_t chunks, float* norms, cudaStream_t stream) {
  Elementwise<1>(chunks, RoundRun{sums, norms}, stream);
}

}  // namespace gf
