#include "comm/topk/cuda/segments_inline.h"
#include "comm/topk/cuda/topk_kernels.h"
#include "core/cuda/block_sums_inline.h"

namespace gf {
namespace {

// Bits 20-30, 10-19 and 0-9 of a magnitude.
__host__ __device__ constexpr int ShiftOf(int pass) { return pass == 0 ? 20 : pass == 1 ? 10 : 0; }
__host__ __device__ constexpr int BinsOf(int pass) { return pass == 0 ? kTopkBins : 1024; }

struct CountRun {
  const float* h;
  int* bins;
  uint32_t cut;
  int pass;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const Floats<kCount> v = LoadFloats<kCount>(h + i);
    const int shift = ShiftOf(pass), bits = pass == 0 ? 31 : shift + 10;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const uint32_t magnitude = MagnitudeOf(v.v[k]);
      // In the first pass no bits are known.
      if (pass > 0 && magnitude >> bits != cut >> bits) continue;
      atomicAdd(bins + (magnitude >> shift) % BinsOf(pass), 1);
    }
  }
};

__global__ void __launch_bounds__(kSegmentThreads)
    CountKernel(const float* residual, GpuBucket bucket, int pass) {
  __shared__ int bins[kTopkBins];
  const GpuSegment segment = bucket.segments[blockIdx.x];
  for (int b = threadIdx.x; b < kTopkBins; b += blockDim.x) bins[b] = 0;
  __syncthreads();
  CountRun run = {residual, bins, bucket.entries[segment.entry].cut, pass};
  ForSegment(segment.begin, segment.end, run);
  __syncthreads();
  int* const counts = bucket.counts + segment.entry * kTopkBins;
  for (int b = threadIdx.x; b < BinsOf(pass); b += blockDim.x) {
    if (bins[b] != 0) atomicAdd(counts + b, bins[b]);
  }
}

// Finds the bin that holds the smallest chosen magnitude; one block per entry. Leaves counts of 0.
__global__ void __launch_bounds__(kThreads) PickKernel(GpuBucket bucket, int pass) {
  __shared__ int bins[kTopkBins];
  GpuEntry* const entry = bucket.entries + blockIdx.x;
  int* const counts = bucket.counts + blockIdx.x * kTopkBins;
  for (int b = threadIdx.x; b < BinsOf(pass); b += blockDim.x) {
    bins[b] = counts[b];
    counts[b] = 0;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  int remaining = pass == 0 ? entry->chosen : entry->remaining;
  int bin = BinsOf(pass) - 1;
  for (; bin > 0 && bins[bin] < remaining; --bin) remaining -= bins[bin];
  entry->cut = (pass == 0 ? 0 : entry->cut) | static_cast<uint32_t>(bin) << ShiftOf(pass);
  entry->remaining = remaining;
}

struct AtCutRun {
  const float* h;
  uint32_t cut;
  int larger, equal;

  template <int kCount>
  __device__ void Run(int64_t i) {
    const Floats<kCount> v = LoadFloats<kCount>(h + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const uint32_t magnitude = MagnitudeOf(v.v[k]);
      larger += magnitude > cut;
      equal += magnitude == cut;
    }
  }
};

__global__ void __launch_bounds__(kSegmentThreads)
    CountAtCutKernel(const float* residual, GpuBucket bucket) {
  GpuSegment* const segment = bucket.segments + blockIdx.x;
  AtCutRun run = {residual, bucket.entries[segment->entry].cut, 0, 0};
  ForSegment(segment->begin, segment->end, run);
  const int larger = BlockSum(run.larger), equal = BlockSum(run.equal);
  if (threadIdx.x != 0) return;
  segment->larger = larger;
  segment->equal = equal;
}

// One thread per entry.
__global__ void __launch_bounds__(kThreads) PlaceKernel(GpuBucket bucket, uint32_t* ends) {
  const int e = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (e >= bucket.entry_count) return;
  const GpuEntry entry = bucket.entries[e];
  int place = entry.first_chosen, equal = entry.remaining;
  for (int s = entry.first_segment; s < entry.first_segment + entry.segments; ++s) {
    GpuSegment* const segment = bucket.segments + s;
    segment->take = min(equal, segment->equal);
    segment->place = place;
    equal -= segment->take;
    place += segment->larger + segment->take;
    ends[s] = static_cast<uint32_t>(place);
  }
}

}  // namespace

void SelectTopk(const float* residual, const GpuBucket& bucket, uint32_t* ends,
                cudaStream_t stream) {
  const LaunchShape by_segment(bucket.segment_count, kSegmentThreads, stream);
  for (int pass = 0; pass < kTopkPasses; ++pass) {
    Launch(by_segment, CountKernel, residual, bucket, pass);
    Launch({bucket.entry_count, kThreads, stream}, PickKernel, bucket, pass);
  }
  Launch(by_segment, CountAtCutKernel, residual, bucket);
  Launch({(bucket.entry_count + kThreads - 1) / kThreads, kThreads, stream}, PlaceKernel, bucket,
         ends);
}

}  // namespace gf
