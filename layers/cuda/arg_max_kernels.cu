#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "layers/cuda/arg_max_kernels.h"

namespace gf {
namespace {

using Key = unsigned long long;  // of which warps exchange values

// The highest key below `limit` of the classes begin, begin + step, ...; 0 if there is none. x: of
// class 0.
template <typename T>
__device__ Key HighestBelow(const Ranking& ranking, const T* x, Key limit, int64_t begin,
                            int64_t step) {
  Key highest = 0;
  for (int64_t c = begin; c < ranking.view.classes; c += step) {
    const Key key = RankKey(__float_as_uint(ToFloat(x[c * ranking.view.inner])), c);
    if (key < limit && key > highest) highest = key;
  }
  return highest;
}

template <typename T>
__device__ void Store(const Ranking& ranking, int64_t prediction, int64_t rank, Key key, const T* x,
                      float* top) {
  const int64_t c = RankedClass(key), at = ranking.ResultAt(prediction, rank);
  if (ranking.indices) top[at] = static_cast<float>(c);
  if (ranking.numbers) top[at + ranking.NumberAfter()] = ToFloat(x[c * ranking.view.inner]);
}

// A block per prediction. Each rank takes a pass over the classes.
template <typename T>
__global__ void RankRows(Ranking ranking, const T* x, float* top) {
  for (int64_t i = blockIdx.x; i < ranking.view.predictions(); i += gridDim.x) {
    const T* const own = x + ranking.StartOf(i);
    Key key = UINT64_MAX;
    for (int64_t rank = 0; rank < ranking.top_k; ++rank) {
      key = BlockReduce(HighestBelow(ranking, own, key, threadIdx.x, blockDim.x),
                        [](Key a, Key b) { return a > b ? a : b; });
      if (threadIdx.x == 0) Store(ranking, i, rank, key, own, top);
    }
  }
}

// A thread per prediction: neighbors read neighboring numbers.
template <typename T>
struct RankColumns {
  Ranking ranking;
  const T* x;
  float* top;

  template <int kCount>
  __device__ void Run(int64_t begin) const {
    for (int64_t i = begin; i < begin + kCount; ++i) {
      const T* const own = x + ranking.StartOf(i);
      Key key = UINT64_MAX;
      for (int64_t rank = 0; rank < ranking.top_k; ++rank) {
        key = HighestBelow(ranking, own, key, 0, 1);
        Store(ranking, i, rank, key, own, top);
      }
    }
  }
};

}  // namespace

void RankClasses(const Ranking& ranking, DType type, const void* x, float* top,
                 cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const T* const numbers = static_cast<const T*>(x);
    const int64_t predictions = ranking.view.predictions();
    if (ranking.view.inner > 1) {
      Elementwise<1>(predictions, RankColumns<T>{ranking, numbers, top}, stream);
      return;
    }
    const int blocks = static_cast<int>(std::min<int64_t>(predictions, 1 << 16));
    Launch({blocks, kThreads, stream}, RankRows<T>, ranking, numbers, top);
  });
}

}  // namespace gf
