#include "layers/cuda/image_places_inline.h"
#include "layers/cuda/stochastic_depth_kernels.h"
#include "layers/draws_inline.h"

namespace gf {
namespace {

// Draws whether a part is kept; one of its threads saves it.
struct Draw {
  KeepDraws draws;
  uint8_t* keep;

  __device__ bool Kept(int64_t part, bool saves) const {
    const bool kept = Keeps(draws, part);
    if (saves) keep[part] = kept;
    return kept;
  }
};

struct Saved {
  const uint8_t* keep;

  __device__ bool Kept(int64_t part, bool) const { return keep[part] != 0; }
};

// Rows of blocks divide the parts among them, columns of blocks the packs of each part.
template <int kCount, typename T, typename Choice>
__global__ void __launch_bounds__(kThreads)
    PartsKernel(DroppedParts p, Choice choice, const T* from, T* to) {
  const int64_t packs = p.part_count / kCount;
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t part = blockIdx.y; part < p.parts; part += gridDim.y) {
    const bool kept = choice.Kept(part, first == 0);
    const int64_t end = (part + 1) * packs;
    // An unrolled loop would begin with a division to find the number of steps.
#pragma unroll 1
    for (int64_t i = part * packs + first; i < end; i += step) {
      Floats<kCount> v = {};
      if (kept) {
        v = LoadFloats<kCount>(from + i * kCount);
#pragma unroll
        for (int k = 0; k < kCount; ++k) v.v[k] *= p.scale;
      }
      StoreFloats(to + i * kCount, v);
    }
  }
}

template <typename Choice>
void Run(const DroppedParts& p, const Choice& choice, DType type, const void* from, void* to,
         cudaStream_t stream) {
  // Blocks that keep any GPU busy. Beyond them a thread draws once for several packs.
  constexpr int64_t kBlocks = 2048;
  WithType(type, [&](auto t) {
    using T = decltype(t);
    WithPacks<T>(p.part_count, [&](auto count) {
      constexpr int kCount = decltype(count)::value;
      const int64_t rows = std::min(p.parts, kBlocks);
      const int64_t columns = std::min<int64_t>(BlocksFor(p.part_count / kCount), kBlocks / rows);
      const dim3 blocks(static_cast<unsigned>(columns), static_cast<unsigned>(rows));
      Launch({blocks, kThreads, stream}, PartsKernel<kCount, T, Choice>, p, choice,
             static_cast<const T*>(from), static_cast<T*>(to));
    });
  });
}

}  // namespace

void DropParts(const DroppedParts& parts, const KeepDraws& draws, DType type, const void* x,
               uint8_t* keep, void* y, cudaStream_t stream) {
  Run(parts, Draw{draws, keep}, type, x, y, stream);
}

void DropPartsGradient(const DroppedParts& parts, DType type, const void* dy, const uint8_t* keep,
                       void* dx, cudaStream_t stream) {
  Run(parts, Saved{keep}, type, dy, dx, stream);
}

}  // namespace gf
