#include <cmath>

#include "comm/topk/cuda/segments_inline.h"
#include "comm/topk/cuda/topk_kernels.h"
#include "core/cuda/block_sums_inline.h"

namespace gf {
namespace {

template <typename G>
struct SquaresRun {
  const G* g;
  double sum;

  template <int kCount>
  __device__ void Run(int64_t i) {
    const Floats<kCount> v = LoadFloats<kCount>(g + i);
    float squares = 0;
#pragma unroll
    for (int k = 0; k < kCount; ++k) squares += v.v[k] * v.v[k];
    sum += static_cast<double>(squares);
  }
};

template <typename G>
__global__ void __launch_bounds__(kSegmentThreads) SquaresKernel(TopkArrays a, GpuBucket bucket) {
  GpuSegment* const segment = bucket.segments + blockIdx.x;
  SquaresRun<G> run = {static_cast<const G*>(a.gradients), 0};
  ForSegment(segment->begin, segment->end, run);
  const double sum = BlockSum(run.sum);
  if (threadIdx.x == 0) segment->squares = sum;
}

// The factor of local clipping of an entry, to every thread of the block.
__device__ float ClipScale(const TopkArrays& a, const GpuBucket& bucket, int entry) {
  if (a.clip <= 0) return 1;
  const GpuEntry& of = bucket.entries[entry];
  double sum = 0;
  for (int s = threadIdx.x; s < of.segments; s += blockDim.x) {
    sum += bucket.segments[of.first_segment + s].squares;
  }
  const double norm = sqrt(BlockSum(sum));
  return norm > a.clip ? static_cast<float>(a.clip / norm) : 1;
}

// Products are rounded before they are added, as on the processor.
template <typename G>
struct AccumulateRun {
  const TopkArrays& a;
  float scale;

  template <int kCount>
  __device__ void Run(int64_t i) {
    Floats<kCount> h = LoadFloats<kCount>(a.residual + i);
    const Floats<kCount> g = LoadFloats<kCount>(static_cast<const G*>(a.gradients) + i);
    Floats<kCount> u = {};
    if (a.velocity != nullptr) u = LoadFloats<kCount>(a.velocity + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float entering = __fmul_rn(scale, g.v[k]);
      u.v[k] =
          a.velocity == nullptr ? entering : __fadd_rn(__fmul_rn(a.momentum, u.v[k]), entering);
      const bool ahead = a.nesterov && a.velocity != nullptr;
      h.v[k] += ahead ? __fadd_rn(__fmul_rn(a.momentum, u.v[k]), entering) : u.v[k];
    }
    StoreFloats(a.residual + i, h);
    if (a.velocity != nullptr) StoreFloats(a.velocity + i, u);
  }
};

template <typename G>
__global__ void __launch_bounds__(kSegmentThreads)
    AccumulateKernel(TopkArrays a, GpuBucket bucket) {
  const GpuSegment segment = bucket.segments[blockIdx.x];
  AccumulateRun<G> run = {a, ClipScale(a, bucket, segment.entry)};
  ForSegment(segment.begin, segment.end, run);
}

// Bits of infinity.
constexpr uint32_t kInfinity = 0x7f800000u;

// v = u = 0 where one of them is not finite.
__device__ void DropBad(const TopkArrays& a, int64_t i) {
  if (isfinite(a.residual[i]) && (a.velocity == nullptr || isfinite(a.velocity[i]))) return;
  a.residual[i] = 0;
  if (a.velocity != nullptr) a.velocity[i] = 0;
}

// Sum of `value` over the threads in front of this one.
__device__ int SumBefore(int value) {
  __shared__ int sums[kSegmentThreads];
  sums[threadIdx.x] = value;
  __syncthreads();
  for (unsigned distance = 1; distance < kSegmentThreads; distance *= 2) {
    const int other = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
    __syncthreads();
  }
  const int result = sums[threadIdx.x] - value;
  __syncthreads();
  return result;
}

// Each thread has consecutive elements.
template <typename Wire>
__global__ void __launch_bounds__(kSegmentThreads) WriteKernel(TopkArrays a, GpuBucket bucket) {
  const GpuSegment segment = bucket.segments[blockIdx.x];
  const uint32_t cut = bucket.entries[segment.entry].cut;
  uint32_t* const message = bucket.messages + a.rank * bucket.words;
  auto* const places = reinterpret_cast<uint16_t*>(message + bucket.places_at);
  auto* const values = reinterpret_cast<Wire*>(message + bucket.values_at);
  const int64_t share = (segment.end - segment.begin + blockDim.x - 1) / blockDim.x;
  const int64_t begin = min(segment.begin + threadIdx.x * share, segment.end);
  const int64_t end = min(begin + share, segment.end);
  int larger = 0, equal = 0;
  for (int64_t i = begin; i < end; ++i) {
    const uint32_t magnitude = MagnitudeOf(a.residual[i]);
    larger += magnitude > cut;
    equal += magnitude == cut;
  }
  const int larger_before = SumBefore(larger), equal_before = SumBefore(equal);
  int place = segment.place + larger_before + min(equal_before, segment.take);
  int take = segment.take - min(equal_before, segment.take);
  for (int64_t i = begin; i < end; ++i) {
    const float v = a.residual[i];
    const uint32_t magnitude = MagnitudeOf(v);
    if (magnitude > cut || (magnitude == cut && take-- > 0)) {
      const Wire sent = FromFloat<Wire>(v);
      places[place] = static_cast<uint16_t>(i - segment.begin);
      values[place++] = sent;
      const float y = ToFloat(sent);
      a.residual[i] = isfinite(y) ? v - y : 0;
      if (a.velocity != nullptr && (a.masking || !isfinite(a.velocity[i]))) a.velocity[i] = 0;
    }
    if (cut >= kInfinity) DropBad(a, i);  // more than travel are not finite
  }
}

template <typename G, typename Wire>
__global__ void __launch_bounds__(kSegmentThreads) ReceiveKernel(TopkArrays a, GpuBucket bucket) {
  const GpuSegment segment = bucket.segments[blockIdx.x];
  G* const g = static_cast<G*>(a.gradients) + segment.begin;
  const int64_t count = segment.end - segment.begin;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) g[i] = FromFloat<G>(0);
  for (int rank = 0; rank < a.world; ++rank) {
    __syncthreads();
    const uint32_t* const message = bucket.messages + rank * bucket.words;
    const auto* const places = reinterpret_cast<const uint16_t*>(message + bucket.places_at);
    const auto* const values = reinterpret_cast<const Wire*>(message + bucket.values_at);
    const uint32_t end = message[blockIdx.x];
    for (uint32_t k = (blockIdx.x == 0 ? 0 : message[blockIdx.x - 1]) + threadIdx.x; k < end;
         k += blockDim.x) {
      G* const at = g + places[k];
      *at = FromFloat<G>(ToFloat(*at) + ToFloat(values[k]));
    }
  }
}

template <typename G>
__global__ void __launch_bounds__(kSegmentThreads) SendAllKernel(TopkArrays a, GpuBucket bucket) {
  const GpuSegment segment = bucket.segments[blockIdx.x];
  G* const g = static_cast<G*>(a.gradients);
#pragma unroll 1
  for (int64_t i = segment.begin + threadIdx.x; i < segment.end; i += blockDim.x) {
    const float v = a.residual[i];
    g[i] = FromFloat<G>(v);
    const float y = ToFloat(g[i]);
    a.residual[i] = isfinite(y) ? v - y : 0;
    DropBad(a, i);
  }
}

void Accumulate(const TopkArrays& a, const GpuBucket& bucket, cudaStream_t stream) {
  const LaunchShape by_segment(bucket.segment_count, kSegmentThreads, stream);
  WithType(a.gradient_type, [&](auto g) {
    if (a.clip > 0) Launch(by_segment, SquaresKernel<decltype(g)>, a, bucket);
    Launch(by_segment, AccumulateKernel<decltype(g)>, a, bucket);
  });
}

}  // namespace

void SendTopk(const TopkArrays& a, const GpuBucket& bucket, cudaStream_t stream) {
  Accumulate(a, bucket, stream);
  SelectTopk(a.residual, bucket, bucket.messages + a.rank * bucket.words, stream);
  WithType(a.wire_type, [&](auto wire) {
    Launch({bucket.segment_count, kSegmentThreads, stream}, WriteKernel<decltype(wire)>, a, bucket);
  });
}

void ReceiveTopk(const TopkArrays& a, const GpuBucket& bucket, cudaStream_t stream) {
  WithType(a.gradient_type, [&](auto g) {
    WithType(a.wire_type, [&](auto wire) {
      Launch({bucket.segment_count, kSegmentThreads, stream},
             ReceiveKernel<decltype(g), decltype(wire)>, a, bucket);
    });
  });
}

void SendAllTopk(const TopkArrays& a, const GpuBucket& bucket, cudaStream_t stream) {
  Accumulate(a, bucket, stream);
  WithType(a.gradient_type, [&](auto g) {
    Launch({bucket.segment_count, kSegmentThreads, stream}, SendAllKernel<decltype(g)>, a, bucket);
  });
}

}  // namespace gf
