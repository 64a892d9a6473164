#include "core/cuda/launch_inline.h"
#include "layers/cuda/eltwise_kernels.h"

namespace gf {
namespace {

template <int kCount, typename T>
__device__ Floats<kCount> Load(const void* data, int64_t i) {
  return LoadFloats<kCount>(static_cast<const T*>(data) + i);
}

template <typename T, EltwiseKind kKind>
struct Forward {
  EltwiseTensors t;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> result = Load<kCount, T>(t.bottoms[0], i);
    Pack<uint8_t, kCount> winner = {};
    if (kKind == EltwiseKind::kSum) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) result.v[k] *= t.coefficients[0];
    }
    for (int b = 1; b < t.bottom_count; ++b) {
      const Floats<kCount> x = Load<kCount, T>(t.bottoms[b], i);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        if (kKind == EltwiseKind::kSum) {
          result.v[k] += t.coefficients[b] * x.v[k];
        } else if (kKind == EltwiseKind::kProduct) {
          result.v[k] *= x.v[k];
        } else {
          // As in Caffe, the second bottom wins a tie with the first; later bottoms lose every tie.
          const bool wins = b == 1 ? !(result.v[k] > x.v[k]) : x.v[k] > result.v[k];
          if (wins) winner.v[k] = static_cast<uint8_t>(b);
          result.v[k] = wins ? x.v[k] : result.v[k];
        }
      }
    }
    if (kKind == EltwiseKind::kMaximum && t.winners != nullptr) {
      *reinterpret_cast<Pack<uint8_t, kCount>*>(t.winners + i) = winner;
    }
    if (t.relu) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) result.v[k] = result.v[k] < 0 ? 0 : result.v[k];
    }
    StoreFloats(static_cast<T*>(t.top) + i, result);
  }
};

template <typename T, EltwiseKind kKind>
struct Backward {
  EltwiseTensors t;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> dy = Load<kCount, T>(t.top_diffs[0], i);
    for (int d = 1; d < t.top_diff_count; ++d) {
      const Floats<kCount> more = Load<kCount, T>(t.top_diffs[d], i);
#pragma unroll
      for (int k = 0; k < kCount; ++k) dy.v[k] += more.v[k];
    }
    if (t.relu) {
      const Floats<kCount> y = Load<kCount, T>(t.top, i);
#pragma unroll
      for (int k = 0; k < kCount; ++k) dy.v[k] = y.v[k] > 0 ? dy.v[k] : 0;
    }
    Pack<uint8_t, kCount> winner = {};
    if (kKind == EltwiseKind::kMaximum) {
      winner = *reinterpret_cast<const Pack<uint8_t, kCount>*>(t.winners + i);
    }
    for (int b = 0; b < t.bottom_count; ++b) {
      if (t.bottom_diffs[b] == nullptr) continue;
      Floats<kCount> dx = dy;
      if (kKind == EltwiseKind::kProduct) {
        for (int other = 0; other < t.bottom_count; ++other) {
          if (other == b) continue;
          const Floats<kCount> x = Load<kCount, T>(t.bottoms[other], i);
#pragma unroll
          for (int k = 0; k < kCount; ++k) dx.v[k] *= x.v[k];
        }
      } else {
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
          if (kKind == EltwiseKind::kSum) {
            dx.v[k] *= t.coefficients[b];
          } else {
            dx.v[k] = winner.v[k] == b ? dx.v[k] : 0;
          }
        }
      }
      StoreFloats(static_cast<T*>(t.bottom_diffs[b]) + i, dx);
    }
  }
};

template <template <typename, EltwiseKind> class Direction>
void RunKind(EltwiseKind kind, DType type, const EltwiseTensors& tensors, int64_t count,
             cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    switch (kind) {
      case EltwiseKind::kSum:
        return Elementwise<kPack<T>>(count, Direction<T, EltwiseKind::kSum>{tensors}, stream);
      case EltwiseKind::kProduct:
        return Elementwise<kPack<T>>(count, Direction<T, EltwiseKind::kProduct>{tensors}, stream);
      case EltwiseKind::kMaximum:
        return Elementwise<kPack<T>>(count, Direction<T, EltwiseKind::kMaximum>{tensors}, stream);
    }
  });
}

}  // namespace

void EltwiseForward(EltwiseKind kind, DType type, const EltwiseTensors& tensors, int64_t count,
                    cudaStream_t stream) {
  RunKind<Forward>(kind, type, tensors, count, stream);
}

void EltwiseBackward(EltwiseKind kind, DType type, const EltwiseTensors& tensors, int64_t count,
                     cudaStream_t stream) {
  RunKind<Backward>(kind, type, tensors, count, stream);
}

void AddUp(DType type, const void* const* from, int how_many, void* to, int64_t count,
           cudaStream_t stream) {
  // The first group overwrites `to`, so a tensor stored there must be in that group.
  EltwiseTensors t;
  t.top = to;
  for (int i = 0; i < how_many; ++i) {
    if (from[i] != to) continue;
    t.bottoms[t.bottom_count] = to;
    t.coefficients[t.bottom_count++] = 1;
  }
  for (int i = 0; i < how_many; ++i) {
    if (from[i] == to) continue;
    if (t.bottom_count == EltwiseTensors::kMost) {
      EltwiseForward(EltwiseKind::kSum, type, t, count, stream);
      t.bottoms[0] = to;
      t.coefficients[0] = 1;
      t.bottom_count = 1;
    }
    t.bottoms[t.bottom_count] = from[i];
    t.coefficients[t.bottom_count++] = 1;
  }
  EltwiseForward(EltwiseKind::kSum, type, t, count, stream);
}

}  // namespace gf
