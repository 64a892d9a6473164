#include "layers/cpu/batch_norm_kernels.h"

#include "core/simd_vector.h"

namespace gf {
namespace {

// Note [Slices of one channel]
// If block == 1, the lanes of a vector are neighboring pixels of one channel instead of neighboring
// channels of one pixel. Per-channel values are broadcast, sums are added over the lanes at the
// end, and the last spatial % kLanes pixels go through a padded copy.

template <int kLanes>
struct Channel {
  bool single;  // block == 1
  static Channel Of(const BatchNormSlice& slice) { return {slice.block == 1}; }
  Vec<kLanes> Get(const float* values) const {
    return single ? Broadcast<kLanes>(values[0]) : LoadVec<kLanes>(values);
  }
  void Add(Vec<kLanes> sum, double* total) const {
    for (int l = 0; l < kLanes; ++l) total[single ? 0 : l] += sum[l];
  }
};

// Number of elements of one image in the slice that fill whole vectors; the rest is a tail (block
// 1).
template <int kLanes>
GF_INLINE int64_t WholeVectors(const BatchNormSlice& slice) {
  return slice.spatial * slice.block / kLanes * kLanes;
}

template <int kLanes, typename T>
GF_INLINE Vec<kLanes> LoadTail(const T* p, int64_t count) {
  T padded[kLanes] = {};
  __builtin_memcpy(padded, p, count * sizeof(T));
  return LoadVec<kLanes>(padded);
}

template <int kLanes, typename T>
GF_INLINE void StoreTail(T* p, Vec<kLanes> v, int64_t count) {
  T padded[kLanes];
  StoreVec<kLanes>(padded, v);
  __builtin_memcpy(p, padded, count * sizeof(T));
}

// 1 in the first `count` lanes.
template <int kLanes>
GF_INLINE Vec<kLanes> TailMask(int64_t count) {
  Vec<kLanes> mask = {};
  for (int l = 0; l < kLanes; ++l) mask[l] = l < count ? 1.f : 0.f;
  return mask;
}

template <int kLanes, typename T>
void StatisticsLanes(const BatchNormSlice& slice, const T* x, const float* shift, double* sum,
                     double* squares) {
  constexpr int kUnroll = 4;
  const auto channel = Channel<kLanes>::Of(slice);
  const Vec<kLanes> k = channel.Get(shift);
  const int64_t count = slice.spatial * slice.block, whole = WholeVectors<kLanes>(slice);
  for (int64_t i = 0; i < slice.n; ++i, x += slice.stride) {
    Vec<kLanes> s[kUnroll] = {}, q[kUnroll] = {};
    int64_t j = 0;
    for (; j + kUnroll * kLanes <= whole; j += kUnroll * kLanes) {
      for (int u = 0; u < kUnroll; ++u) {
        const Vec<kLanes> d = LoadVec<kLanes>(x + j + u * kLanes) - k;
        s[u] += d;
        q[u] += d * d;
      }
    }
    for (; j < whole; j += kLanes) {
      const Vec<kLanes> d = LoadVec<kLanes>(x + j) - k;
      s[0] += d;
      q[0] += d * d;
    }
    if (j < count) {
      const Vec<kLanes> d = (LoadTail<kLanes>(x + j, count - j) - k) * TailMask<kLanes>(count - j);
      s[0] += d;
      q[0] += d * d;
    }
    channel.Add((s[0] + s[1]) + (s[2] + s[3]), sum);
    channel.Add((q[0] + q[1]) + (q[2] + q[3]), squares);
  }
}

template <int kLanes, bool kAdd, bool kRelu, bool kStream, typename T>
void ApplyLanes(const BatchNormSlice& slice, const T* x, const T* add, T* y, const float* scale,
                const float* offset) {
  const auto channel = Channel<kLanes>::Of(slice);
  const Vec<kLanes> a = channel.Get(scale), b = channel.Get(offset);
  const int64_t count = slice.spatial * slice.block, whole = WholeVectors<kLanes>(slice);
  const auto value = [&](Vec<kLanes> in, Vec<kLanes> other) __attribute__((always_inline)) {
    Vec<kLanes> v = in * a + b;
    if (kAdd) v += other;
    return kRelu ? Relu<kLanes>(v) : v;
  };
  for (int64_t i = slice.n - 1; i >= 0; --i) {
    const int64_t at = i * slice.stride;
    for (int64_t j = 0; j < whole; j += kLanes) {
      const Vec<kLanes> v =
          value(LoadVec<kLanes>(x + at + j), kAdd ? LoadVec<kLanes>(add + at + j) : a);
      if (kStream) {
        StreamVec<kLanes>(y + at + j, v);
      } else {
        StoreVec<kLanes>(y + at + j, v);
      }
    }
    if (whole < count) {
      const int64_t rest = count - whole;
      StoreTail<kLanes>(y + at + whole,
                        value(LoadTail<kLanes>(x + at + whole, rest),
                              kAdd ? LoadTail<kLanes>(add + at + whole, rest) : a),
                        rest);
    }
  }
}

template <int kLanes, ReluGradient kMode, bool kSecond, bool kStore, typename T>
void ReduceLanes(const BatchNormSlice& slice, const T* x, const T* y, const T* dy, const T* dy2,
                 T* dz, const float* scale, const float* offset, const float* mean, double* sum,
                 double* products) {
  const auto channel = Channel<kLanes>::Of(slice);
  const Vec<kLanes> a = channel.Get(scale), b = channel.Get(offset), m = channel.Get(mean);
  const int64_t count = slice.spatial * slice.block, whole = WholeVectors<kLanes>(slice);
  const auto gradient = [&](Vec<kLanes> vx, Vec<kLanes> vy, Vec<kLanes> g, Vec<kLanes> g2)
      __attribute__((always_inline)) {
    if (kSecond) g += g2;
    if (kMode == ReluGradient::kFromInput) g = vx * a + b > 0 ? g : Vec<kLanes>{};
    if (kMode == ReluGradient::kFromOutput) g = vy > 0 ? g : Vec<kLanes>{};
    return g;
  };
  for (int64_t i = 0; i < slice.n; ++i) {
    const int64_t at = i * slice.stride;
    Vec<kLanes> s[2] = {}, p[2] = {};
    for (int64_t j = 0; j < whole; j += kLanes) {
      const int u = (j / kLanes) & 1;
      const Vec<kLanes> vx = LoadVec<kLanes>(x + at + j);
      const Vec<kLanes> g =
          gradient(vx, kMode == ReluGradient::kFromOutput ? LoadVec<kLanes>(y + at + j) : vx,
                   LoadVec<kLanes>(dy + at + j), kSecond ? LoadVec<kLanes>(dy2 + at + j) : vx);
      if (kStore) StoreVec<kLanes>(dz + at + j, g);
      s[u] += g;
      p[u] += g * (vx - m);
    }
    if (whole < count) {
      const int64_t rest = count - whole, t = at + whole;
      const Vec<kLanes> vx = LoadTail<kLanes>(x + t, rest);
      const Vec<kLanes> g =
          gradient(vx, kMode == ReluGradient::kFromOutput ? LoadTail<kLanes>(y + t, rest) : vx,
                   LoadTail<kLanes>(dy + t, rest),
                   kSecond ? LoadTail<kLanes>(dy2 + t, rest) : Vec<kLanes>{});
      if (kStore) StoreTail<kLanes>(dz + t, g, rest);
      s[0] += g;
      p[0] += g * (vx - m);
    }
    channel.Add(s[0] + s[1], sum);
    channel.Add(p[0] + p[1], products);
  }
}

template <int kLanes, bool kRelu, typename T>
void BackwardApplyLanes(const BatchNormSlice& slice, const T* x, const T* dy, T* dx,
                        const float* scale, const float* offset, const float* a, const float* b,
                        const float* c) {
  const auto channel = Channel<kLanes>::Of(slice);
  const Vec<kLanes> vs = channel.Get(scale), vo = channel.Get(offset), va = channel.Get(a),
                    vb = channel.Get(b), vc = channel.Get(c);
  const int64_t count = slice.spatial * slice.block, whole = WholeVectors<kLanes>(slice);
  const auto value = [&](Vec<kLanes> vx, Vec<kLanes> g) __attribute__((always_inline)) {
    if (kRelu) g = vx * vs + vo > 0 ? g : Vec<kLanes>{};
    return g * va + (vx * vb + vc);
  };
  for (int64_t i = slice.n - 1; i >= 0; --i) {
    const int64_t at = i * slice.stride;
    for (int64_t j = 0; j < whole; j += kLanes) {
      StoreVec<kLanes>(dx + at + j,
                       value(LoadVec<kLanes>(x + at + j), LoadVec<kLanes>(dy + at + j)));
    }
    if (whole < count) {
      const int64_t rest = count - whole, t = at + whole;
      StoreTail<kLanes>(dx + t,
                        value(LoadTail<kLanes>(x + t, rest), LoadTail<kLanes>(dy + t, rest)), rest);
    }
  }
}

template <int kCount>
struct Lanes {
  static constexpr int value = kCount;
};

// Calls f(lanes), where `lanes` is the number of lanes for a block as a compile-time constant.
template <typename F>
GF_INLINE void WithLanes(int block, const F& f) {
  switch (block) {
    case 16:
      return f(Lanes<16>());
    case 8:
      return f(Lanes<8>());
    default:
      return f(Lanes<kNativeLanes>());
  }
}

struct True {
  static constexpr bool value = true;
};
struct False {
  static constexpr bool value = false;
};

template <typename F>
GF_INLINE void WithBool(bool condition, const F& f) {
  if (condition) {
    f(True());
  } else {
    f(False());
  }
}

template <typename T>
void Statistics(const BatchNormSlice& slice, const T* x, const float* shift, double* sum,
                double* squares) {
  WithLanes(slice.block, [&](auto lanes) {
    StatisticsLanes<decltype(lanes)::value>(slice, x, shift, sum, squares);
  });
}

template <typename T>
void Apply(const BatchNormSlice& slice, const T* x, const T* add, T* y, const float* scale,
           const float* offset, bool relu, bool stream) {
  WithLanes(slice.block, [&](auto lanes) {
    WithBool(add != nullptr, [&](auto has_add) {
      WithBool(relu, [&](auto clip) {
        WithBool(stream, [&](auto past_cache) {
          ApplyLanes<decltype(lanes)::value, decltype(has_add)::value, decltype(clip)::value,
                     decltype(past_cache)::value>(slice, x, add, y, scale, offset);
        });
      });
    });
  });
}

template <typename T>
void BackwardReduce(const BatchNormSlice& slice, const T* x, const T* y, const T* dy, const T* dy2,
                    T* dz, const float* scale, const float* offset, const float* mean,
                    ReluGradient relu, double* sum, double* products) {
  WithLanes(slice.block, [&](auto lanes) {
    WithBool(dy2 != nullptr, [&](auto second) {
      WithBool(dz != nullptr, [&](auto store) {
        constexpr int kLanes = decltype(lanes)::value;
        constexpr bool kSecond = decltype(second)::value, kStore = decltype(store)::value;
        switch (relu) {
          case ReluGradient::kNone:
            return ReduceLanes<kLanes, ReluGradient::kNone, kSecond, kStore>(
                slice, x, y, dy, dy2, dz, scale, offset, mean, sum, products);
          case ReluGradient::kFromInput:
            return ReduceLanes<kLanes, ReluGradient::kFromInput, kSecond, kStore>(
                slice, x, y, dy, dy2, dz, scale, offset, mean, sum, products);
          case ReluGradient::kFromOutput:
            return ReduceLanes<kLanes, ReluGradient::kFromOutput, kSecond, kStore>(
                slice, x, y, dy, dy2, dz, scale, offset, mean, sum, products);
        }
      });
    });
  });
}

template <typename T>
void BackwardApply(const BatchNormSlice& slice, const T* x, const T* dy, T* dx, const float* scale,
                   const float* offset, bool relu, const float* a, const float* b, const float* c) {
  WithLanes(slice.block, [&](auto lanes) {
    WithBool(relu, [&](auto mask) {
      BackwardApplyLanes<decltype(lanes)::value, decltype(mask)::value>(slice, x, dy, dx, scale,
                                                                        offset, a, b, c);
    });
  });
}

}  // namespace

GF_SIMD_DEFINE(BatchNormKernels, BatchNormTable) = {
    {&Statistics<float>, &Apply<float>, &BackwardReduce<float>, &BackwardApply<float>},
    {&Statistics<uint16_t>, &Apply<uint16_t>, &BackwardReduce<uint16_t>, &BackwardApply<uint16_t>}};

}  // namespace gf
