#include "layers/cuda/batch_norm_inline.h"
#include "layers/cuda/batch_norm_kernels.h"
#include "layers/cuda/column_sums_inline.h"

namespace gf {
namespace {

// Sums of x - shift and its square. The shift is the channel's first pixel, a value near its mean,
// which avoids cancellation; or 0.
template <typename T, bool kShift>
struct StatisticsSums {
  static constexpr int kRows = 4, kBlocks = 4;
  const T* x;

  template <int kCount>
  __device__ Floats<kCount> Begin(int column) const {
    return kShift ? LoadFloats<kCount>(x + column) : Floats<kCount>{};
  }
  template <int kCount>
  __device__ Pack<T, kCount> Load(int64_t at) const {
    return LoadPack<kCount>(x + at);
  }
  template <int kCount>
  __device__ void Row(const Floats<kCount>& shift, const Pack<T, kCount>& loaded, int64_t,
                      Floats<kCount>* sums) const {
    const Floats<kCount> v = ToFloats(loaded);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float d = v.v[k] - shift.v[k];
      sums[0].v[k] += d;
      sums[1].v[k] += d * d;
    }
  }
};

template <typename T>
struct FinishStatistics {
  SetStatistics set;
  const T* x;

  __device__ void operator()(int c, const double* sums) const {
    set(c, ToFloat(x[c]), sums[0], sums[1], true);
  }
};

struct StoreSums {
  float* sums;
  int channels;

  __device__ void operator()(int c, const double* values) const {
    sums[c] = static_cast<float>(values[0]);
    sums[channels + c] = static_cast<float>(values[1]);
  }
};

__global__ void UseSums(SetStatistics set, const float* sums, int channels) {
  const int c = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (c < channels) set(c, 0, sums[c], sums[channels + c], true);
}

enum class Add { kNothing, kPlain, kNormalized };

template <typename T, Add kAddend>
struct Apply {
  static constexpr bool kAdd = kAddend != Add::kNothing, kScaled = kAddend == Add::kNormalized;
  static constexpr int kRows = kAdd ? 2 : 4, kBlocks = kScaled ? 3 : 4;
  const T* x;
  const T* add;
  T* y;
  ChannelScales scales;
  const float* add_scale;
  const float* add_offset;
  bool relu;
  unsigned char* mask;

  // Of the columns of this block's tile: scales, offsets (of both operands), the addend's scales.
  static __device__ float* Table() {
    alignas(32) __shared__ float table[(kScaled ? 3 : 2) * kThreads];
    return table;
  }
  // Every block computes them for itself; those with the first rows of their tiles write them.
  __device__ void Prepare(int first, int tile, int columns) const {
    const int i = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x), c = first + i;
    if (i >= tile || c >= columns) return;
    const float2 values = scales.Of(c, columns, blockIdx.y == 0);
    Table()[i] = values.x;
    Table()[kThreads + i] = kScaled ? values.y + add_offset[c] : values.y;
    if constexpr (kScaled) Table()[2 * kThreads + i] = add_scale[c];
  }

  template <int kCount>
  struct Values {
    Floats<kCount> scale, offset, add_scale;
  };
  template <int kCount>
  __device__ Values<kCount> Begin(int) const {
    const float* const table = Table() + threadIdx.x * kCount;
    Values<kCount> values;
    values.scale = LoadFloats<kCount>(table);
    values.offset = LoadFloats<kCount>(table + kThreads);
    if constexpr (kScaled) values.add_scale = LoadFloats<kCount>(table + 2 * kThreads);
    return values;
  }
  template <int kCount>
  struct Loaded {
    Pack<T, kCount> x, add;
  };
  template <int kCount>
  __device__ Loaded<kCount> Load(int64_t at) const {
    Loaded<kCount> loaded;
    loaded.x = LoadPack<kCount>(x + at);
    if constexpr (kAdd) loaded.add = LoadPack<kCount>(add + at);
    return loaded;
  }
  template <int kCount>
  __device__ void Row(const Values<kCount>& values, const Loaded<kCount>& loaded, int64_t at,
                      Floats<kCount>*) const {
    Floats<kCount> v = ToFloats(loaded.x), other;
    if constexpr (kAdd) other = ToFloats(loaded.add);
    unsigned positive = 0;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      v.v[k] = v.v[k] * values.scale.v[k] + values.offset.v[k];
      if (kAdd) v.v[k] += kScaled ? other.v[k] * values.add_scale.v[k] : other.v[k];
      if (kAdd && v.v[k] > 0) positive |= 1U << k;
      if (relu) v.v[k] = v.v[k] < 0 ? 0 : v.v[k];  // NaN stays
    }
    StoreFloats(y + at, v);
    if (kAdd && mask != nullptr) mask[at / kCount] = static_cast<unsigned char>(positive);
  }
};

}  // namespace

size_t BatchNormMaskBytes(const ColumnsView& view, DType type) {
  size_t bytes = 0;
  WithType(type, [&](auto t) {
    WithColumnCount<decltype(t)>(view, [&](auto count) {
      static_assert(decltype(count)::value <= 8, "a pack's bits fit into a byte");
      bytes = view.rows * view.columns / decltype(count)::value;
    });
  });
  return bytes;
}

void BatchStatistics(const BatchNormForward& call, const ColumnSumsMemory& memory,
                     cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    const T* x = static_cast<const T*>(call.x);
    const FinishStatistics<T> finish = {StatisticsOf(call), x};
    SumColumns<2, T>(call.view, StatisticsSums<T, true>{x}, finish, memory, stream);
  });
}

void ChannelSums(const ColumnsView& view, DType type, const void* x, float* sums,
                 const ColumnSumsMemory& memory, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    SumColumns<2, T>(view, StatisticsSums<T, false>{static_cast<const T*>(x)},
                     StoreSums{sums, view.columns}, memory, stream);
  });
}

void Normalize(const BatchNormForward& call, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    const T* x = static_cast<const T*>(call.x);
    const T* add = static_cast<const T*>(call.add);
    T* y = static_cast<T*>(call.y);
    const auto run = [&](auto apply) {
      ForColumns<T>(call.view,
                    decltype(apply){x, add, y, ScalesOf(call), call.add_scale, call.add_offset,
                                    call.relu, call.mask},
                    stream);
    };
    if (add == nullptr) {
      run(Apply<T, Add::kNothing>());
    } else if (call.add_scale == nullptr) {
      run(Apply<T, Add::kPlain>());
    } else {
      run(Apply<T, Add::kNormalized>());
    }
  });
}

void StatisticsFromSums(const BatchNormForward& call, cudaStream_t stream) {
  const int channels = call.view.columns;
  Launch({(channels + kThreads - 1) / kThreads, kThreads, stream}, UseSums, StatisticsOf(call),
         call.sums, channels);
}

}  // namespace gf
