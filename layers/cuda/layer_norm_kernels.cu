#include "core/cuda/block_sums_inline.h"
#include "layers/cuda/column_sums_inline.h"
#include "layers/cuda/layer_norm_kernels.h"

namespace gf {
namespace {

// A warp computes a row, or a block where rows are long. kAcross: the threads of a row.
constexpr int kWarp = 32;

template <int kAcross>
__device__ float RowSum(float value) {
  if constexpr (kAcross == kWarp) {
    return WarpSum(value);
  } else {
    return static_cast<float>(BlockSum(static_cast<double>(value)));
  }
}

// Calls f(channel, element) for each group of kCount channels of this thread.
template <int kCount, int kAcross, typename F>
__device__ void ForChannels(const LayerNormRows& r, int64_t row, const F& f) {
  const int64_t outer = r.inner == 1 ? row : row / r.inner;
  const int64_t start = outer * (r.channels - 1) * r.inner + row;
  for (int64_t c = threadIdx.x % kAcross * kCount; c < r.channels; c += kAcross * kCount) {
    f(c, start + c * r.inner);
  }
}

// Calls f(row) for each row of this thread.
template <int kAcross, typename F>
__device__ void ForRowsOfThread(const LayerNormRows& r, const F& f) {
  constexpr int kRows = kThreads / kAcross;  // of a block
  const int64_t step = int64_t{gridDim.x} * kRows;
  for (int64_t row = int64_t{blockIdx.x} * kRows + threadIdx.x / kAcross; row < r.rows();
       row += step) {
    f(row);
  }
}

template <typename T, int kCount, int kAcross>
__global__ void __launch_bounds__(kThreads, 4)
    Forward(LayerNormRows r, float eps, const T* x, const float* gamma, const float* beta, T* y,
            float* means, float* inverse_stds) {
  ForRowsOfThread<kAcross>(r, [&](int64_t row) {
    float sum = 0, squares = 0;
    ForChannels<kCount, kAcross>(r, row, [&](int64_t, int64_t at) {
      const Floats<kCount> v = LoadFloats<kCount>(x + at);
#pragma unroll
      for (int k = 0; k < kCount; ++k) sum += v.v[k];
    });
    const float mean = RowSum<kAcross>(sum) / static_cast<float>(r.channels);
    ForChannels<kCount, kAcross>(r, row, [&](int64_t, int64_t at) {
      const Floats<kCount> v = LoadFloats<kCount>(x + at);
#pragma unroll
      for (int k = 0; k < kCount; ++k) squares += (v.v[k] - mean) * (v.v[k] - mean);
    });
    const float variance = RowSum<kAcross>(squares) / static_cast<float>(r.channels);
    const float inverse_std = 1 / sqrtf(variance + eps);
    if (means != nullptr && threadIdx.x % kAcross == 0) {
      means[row] = mean;
      inverse_stds[row] = inverse_std;
    }
    ForChannels<kCount, kAcross>(r, row, [&](int64_t c, int64_t at) {
      Floats<kCount> v = LoadFloats<kCount>(x + at);
#pragma unroll
      for (int k = 0; k < kCount; ++k) v.v[k] = (v.v[k] - mean) * inverse_std;
      if (gamma != nullptr) {
        const Floats<kCount> g = LoadFloats<kCount>(gamma + c), b = LoadFloats<kCount>(beta + c);
#pragma unroll
        for (int k = 0; k < kCount; ++k) v.v[k] = v.v[k] * g.v[k] + b.v[k];
      }
      StoreFloats(y + at, v);
    });
  });
}

// With xhat = (x - mean) * inverse_std and g = dy * gamma:
//   dx = inverse_std * (g - mean(g) - xhat * mean(g * xhat))
template <typename T, int kCount, int kAcross>
__global__ void __launch_bounds__(kThreads, 3)
    Backward(LayerNormRows r, const T* x, const T* dy, const float* gamma, const float* means,
             const float* inverse_stds, T* dx) {
  ForRowsOfThread<kAcross>(r, [&](int64_t row) {
    const float mean = means[row], inverse_std = inverse_stds[row];
    const auto gradient = [&](int64_t c, int64_t at) {
      Floats<kCount> g = LoadFloats<kCount>(dy + at);
      if (gamma != nullptr) {
        const Floats<kCount> factor = LoadFloats<kCount>(gamma + c);
#pragma unroll
        for (int k = 0; k < kCount; ++k) g.v[k] *= factor.v[k];
      }
      return g;
    };
    float sum = 0, product = 0;
    ForChannels<kCount, kAcross>(r, row, [&](int64_t c, int64_t at) {
      const Floats<kCount> v = LoadFloats<kCount>(x + at), g = gradient(c, at);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        sum += g.v[k];
        product += g.v[k] * ((v.v[k] - mean) * inverse_std);
      }
    });
    const float a = RowSum<kAcross>(sum) / static_cast<float>(r.channels);
    const float b = RowSum<kAcross>(product) / static_cast<float>(r.channels);
    ForChannels<kCount, kAcross>(r, row, [&](int64_t c, int64_t at) {
      const Floats<kCount> v = LoadFloats<kCount>(x + at);
      Floats<kCount> g = gradient(c, at);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        g.v[k] = inverse_std * (g.v[k] - a - (v.v[k] - mean) * inverse_std * b);
      }
      StoreFloats(dx + at, g);
    });
  });
}

// Of contiguous rows.
template <typename T>
struct ColumnSums {
  static constexpr int kRows = 2, kBlocks = 3;
  const T *x, *dy;
  const float *mean, *inverse_std;
  double rows_of_element;  // 1 / channels

  template <int kCount>
  __device__ int Begin(int) const {
    return 0;
  }
  template <int kCount>
  struct Loaded {
    Pack<T, kCount> x, dy;
    float mean, inverse_std;
  };
  template <int kCount>
  __device__ Loaded<kCount> Load(int64_t at) const {
    // The row of the middle of an element: no product is rounded past a whole number below 2^51
    // elements.
    const auto row = static_cast<int64_t>((static_cast<double>(at) + 0.5) * rows_of_element);
    return {LoadPack<kCount>(x + at), LoadPack<kCount>(dy + at), mean[row], inverse_std[row]};
  }
  template <int kCount>
  __device__ void Row(int, const Loaded<kCount>& loaded, int64_t, Floats<kCount>* sums) const {
    const Floats<kCount> v = ToFloats(loaded.x), g = ToFloats(loaded.dy);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      sums[0].v[k] += g.v[k] * ((v.v[k] - loaded.mean) * loaded.inverse_std);
      sums[1].v[k] += g.v[k];
    }
  }
};

template <typename T>
struct StoreSums {
  T *dgamma, *dbeta;
  __device__ void operator()(int channel, const double* sums) const {
    dgamma[channel] = FromFloat<T>(static_cast<float>(sums[0]));
    dbeta[channel] = FromFloat<T>(static_cast<float>(sums[1]));
  }
};

// Of other rows; a block per channel.
template <typename T>
__global__ void __launch_bounds__(kThreads, 4)
    ChannelSums(LayerNormRows r, const T* x, const T* dy, const float* mean,
                const float* inverse_std, StoreSums<T> store) {
  for (int c = static_cast<int>(blockIdx.x); c < r.channels; c += static_cast<int>(gridDim.x)) {
    double sums[2] = {};
    for (int64_t outer = 0; outer < r.outer; ++outer) {
      for (int64_t i = threadIdx.x; i < r.inner; i += blockDim.x) {
        const int64_t at = (outer * r.channels + c) * r.inner + i, row = outer * r.inner + i;
        const float g = ToFloat(dy[at]);
        sums[0] += g * ((ToFloat(x[at]) - mean[row]) * inverse_std[row]);
        sums[1] += g;
      }
    }
    for (double& sum : sums) sum = BlockSum(sum);
    if (threadIdx.x == 0) store(c, sums);
  }
}

// Calls run(kCount, kAcross, blocks), the first two as types.
template <typename T, typename F>
void WithShape(const LayerNormRows& r, const F& run) {
  const auto with_count = [&](auto count) {
    const auto with_across = [&](auto across) {
      constexpr int64_t kMostBlocks = 1 << 16;
      const int64_t rows_of_block = kThreads / decltype(across)::value;
      run(count, across, std::min(kMostBlocks, (r.rows() + rows_of_block - 1) / rows_of_block));
    };
    constexpr int kMostOfWarp = 8 * kWarp * decltype(count)::value;
    if (r.channels <= kMostOfWarp) {
      with_across(std::integral_constant<int, kWarp>());
    } else {
      with_across(std::integral_constant<int, kThreads>());
    }
  };
  if (r.inner == 1 && r.channels % kPack<T> == 0) {
    with_count(std::integral_constant<int, kPack<T>>());
  } else {
    with_count(std::integral_constant<int, 1>());
  }
}

}  // namespace

void LayerNorm(const LayerNormRows& rows, float eps, const void* x, const float* gamma,
               const float* beta, void* y, float* mean, float* inverse_std, cudaStream_t stream) {
  WithType(rows.type, [&](auto t) {
    using T = decltype(t);
    WithShape<T>(rows, [&](auto count, auto across, int64_t blocks) {
      Launch({blocks, kThreads, stream},
             Forward<T, decltype(count)::value, decltype(across)::value>, rows, eps,
             static_cast<const T*>(x), gamma, beta, static_cast<T*>(y), mean, inverse_std);
    });
  });
}

void LayerNormGradient(const LayerNormRows& rows, const void* x, const void* dy, const float* gamma,
                       const float* mean, const float* inverse_std, void* dx, cudaStream_t stream) {
  WithType(rows.type, [&](auto t) {
    using T = decltype(t);
    WithShape<T>(rows, [&](auto count, auto across, int64_t blocks) {
      Launch({blocks, kThreads, stream},
             Backward<T, decltype(count)::value, decltype(across)::value>, rows,
             static_cast<const T*>(x), static_cast<const T*>(dy), gamma, mean, inverse_std,
             static_cast<T*>(dx));
    });
  });
}

void LayerNormSums(const LayerNormRows& rows, const void* x, const void* dy, const float* mean,
                   const float* inverse_std, void* dgamma, void* dbeta,
                   const ColumnSumsMemory& memory, cudaStream_t stream) {
  WithType(rows.type, [&](auto t) {
    using T = decltype(t);
    const T *values = static_cast<const T*>(x), *gradients = static_cast<const T*>(dy);
    const StoreSums<T> store = {static_cast<T*>(dgamma), static_cast<T*>(dbeta)};
    if (rows.inner == 1) {
      const ColumnSums<T> sums = {values, gradients, mean, inverse_std, 1.0 / rows.channels};
      SumColumns<2, T>({rows.rows(), rows.channels}, sums, store, memory, stream);
    } else {
      const int blocks = std::min(rows.channels, 1 << 16);
      Launch({blocks, kThreads, stream}, ChannelSums<T>, rows, values, gradients, mean, inverse_std,
             store);
    }
  });
}

}  // namespace gf
