#include "layers/cpu/winograd_kernels.h"

#include <utility>

#include "core/simd_vector.h"
#include "layers/cpu/winograd_points.h"

namespace gf {
namespace {

constexpr int kLanes = kNativeLanes;
constexpr int kMost = kMostWinogradPoints;
using V = Vec<kLanes>;

template <int kNumber>
struct Int {
  static constexpr int kValue = kNumber;
};

// Calls body(Int<size>()).
template <typename Body>
GF_INLINE void WithSize(int size, const Body& body) {
  switch (size) {
    case 5:
      return body(Int<5>());
    case 6:
      return body(Int<6>());
    case 7:
      return body(Int<7>());
    default:
      return body(Int<8>());
  }
}

template <typename Body>
GF_INLINE void WithTaps(int taps, const Body& body) {
  taps == 3 ? body(Int<3>()) : body(Int<5>());
}

// Calls body(Int<0>()), body(Int<1>()), ... with numbers below kCount.
template <typename Body, int... kIndex>
GF_INLINE void Each(const Body& body, std::integer_sequence<int, kIndex...>) {
  (body(Int<kIndex>()), ...);
}
template <int kCount, typename Body>
GF_INLINE void ForEach(const Body& body) {
  Each(body, std::make_integer_sequence<int, kCount>());
}

// A transform reads vectors load(0), load(1), ... and calls store(i, vector) for its results.

// B^T x. The points of tiles of even size are symmetric: so are the rows of opposite points, up to
// the sign of odd powers.
template <int kSize, typename Load, typename Store>
GF_INLINE void TransformImages(const Load& load, const Store& store) {
  V x[kSize];
  for (int i = 0; i < kSize; ++i) x[i] = load(i);
  // Adds up the row of a point over powers first, first + step, ...
  const auto sum = [&](auto point, auto first, auto step) {
    V result = {};
    ForEach<kSize>([&](auto k) {
      constexpr float kFactor = WinogradPoints<kSize>::Images().v[point.kValue][k.kValue];
      if constexpr (k.kValue % step.kValue == first.kValue && kFactor != 0) {
        result += kFactor * x[k.kValue];
      }
    });
    return result;
  };
  store(0, sum(Int<0>(), Int<0>(), Int<1>()));
  store(1, sum(Int<1>(), Int<0>(), Int<1>()));
  ForEach<kSize / 2 - 1>([&](auto pair) {
    constexpr int kPoint = 2 + 2 * pair.kValue;
    if constexpr (kSize % 2 == 0) {
      const V even = sum(Int<kPoint>(), Int<0>(), Int<2>()),
              odd = sum(Int<kPoint>(), Int<1>(), Int<2>());
      store(kPoint, even + odd);
      store(kPoint + 1, even - odd);
    } else {
      store(kPoint, sum(Int<kPoint>(), Int<0>(), Int<1>()));
      store(kPoint + 1, sum(Int<kPoint + 1>(), Int<0>(), Int<1>()));
    }
  });
  if constexpr (kSize % 2 == 1) store(kSize - 1, sum(Int<kSize - 1>(), Int<0>(), Int<1>()));
}

// Calls body(first point of a pair, whether the pair has a second one).
template <int kSize, typename Body>
GF_INLINE void ForPairs(const Body& body) {
  ForEach<(kSize - 1) / 2>([&](auto pair) {
    constexpr int kPoint = 2 + 2 * pair.kValue;
    body(Int<kPoint>(), Int<(kPoint + 1 < kSize)>());
  });
}

// The values at kSize points of polynomials with kCount coefficients x: G x, A x.
template <int kSize, int kCount, typename Load, typename Store>
GF_INLINE void Evaluate(const Load& load, const Store& store) {
  using Points = WinogradPoints<kSize>;
  V x[kCount];
  for (int i = 0; i < kCount; ++i) x[i] = load(i);
  store(0, x[0]);
  store(Points::kInfinity, x[kCount - 1]);
  ForPairs<kSize>([&](auto point, auto is_pair) {
    V even = x[0], odd = {};
    ForEach<kCount>([&](auto k) {
      constexpr float kPower = Points::Power(point.kValue, k.kValue, kCount);
      if constexpr (k.kValue % 2 == 1) odd += kPower * x[k.kValue];
      if constexpr (k.kValue % 2 == 0 && k.kValue > 0) even += kPower * x[k.kValue];
    });
    store(point.kValue, even + odd);
    if constexpr (is_pair.kValue != 0) store(point.kValue + 1, even - odd);
  });
}

// The transpose of Evaluate: A^T x, G^T x.
template <int kSize, int kCount, typename Load, typename Store>
GF_INLINE void Interpolate(const Load& load, const Store& store) {
  using Points = WinogradPoints<kSize>;
  V sums[kCount] = {};
  sums[0] = load(0);
  sums[kCount - 1] += load(Points::kInfinity);
  ForPairs<kSize>([&](auto point, auto is_pair) {
    V even = load(point.kValue), odd = even;
    if constexpr (is_pair.kValue != 0) {
      const V opposite = load(point.kValue + 1);
      even += opposite;
      odd -= opposite;
    }
    ForEach<kCount>([&](auto k) {
      constexpr float kPower = Points::Power(point.kValue, k.kValue, kCount);
      sums[k.kValue] += kPower * (k.kValue % 2 == 0 ? even : odd);
    });
  });
  for (int k = 0; k < kCount; ++k) store(k, sums[k]);
}

// Pixel (0, 0) of a channel.
template <typename T>
GF_INLINE T* Channel(const WinogradTensor& tensor, T* data, int64_t image, int64_t channel) {
  const int64_t pixels = tensor.height * tensor.width, block = channel / tensor.block;
  return data + (image * tensor.channels + block * tensor.block) * pixels + channel % tensor.block;
}

// Columns first, then rows: the vectors in between.
using Grid = V[kMost][kMost];

template <typename T>
void Images(const WinogradTensor& tensor, const T* x, const WinogradTile* tiles, int64_t count,
            int taps, const int64_t pad[2], const WinogradSpace& to) {
  const int64_t height = tensor.height, width = tensor.width, step = tensor.block;
  for (int64_t i = 0; i < count; ++i) {
    const WinogradTile& tile = tiles[i];
    const int rows = tile.size[0], columns = tile.size[1];
    const int64_t top = tile.result[0] - pad[0], left = tile.result[1] - pad[1];
    const bool inside = top >= 0 && left >= 0 && top + rows <= height && left + columns <= width;
    for (int64_t channel = 0; channel < tensor.channels; channel += kLanes) {
      const T* const from = Channel(tensor, x, tile.image, channel) + (top * width + left) * step;
      Grid grid;
      WithSize(rows, [&](auto size) {
        for (int c = 0; c < columns; ++c) {
          const auto store = [&](int r, V value) { grid[r][c] = value; };
          const auto pixel = [&](int r) { return LoadVec<kLanes>(from + (r * width + c) * step); };
          const bool exists = left + c >= 0 && left + c < width;
          if (inside) {
            TransformImages<size.kValue>(pixel, store);
          } else {
            TransformImages<size.kValue>(
                [&](int r) { return exists && top + r >= 0 && top + r < height ? pixel(r) : V{}; },
                store);
          }
        }
      });
      float* const out = to.data + i * to.tile_step + channel;
      WithSize(columns, [&](auto size) {
        for (int r = 0; r < rows; ++r) {
          float* const row = out + r * to.points * to.point_step;
          TransformImages<size.kValue>(
              [&](int c) { return grid[r][c]; },
              [&](int c, V value) { StoreVec<kLanes>(row + c * to.point_step, value); });
        }
      });
    }
  }
}

// A tile's results that exist.
struct Extent {
  int rows, columns;
};
GF_INLINE Extent ExtentOf(const WinogradTensor& tensor, const WinogradTile& tile, int taps) {
  const int64_t rows = tensor.height - tile.result[0], columns = tensor.width - tile.result[1];
  const int most_rows = tile.size[0] - taps + 1, most_columns = tile.size[1] - taps + 1;
  return {rows < most_rows ? static_cast<int>(rows) : most_rows,
          columns < most_columns ? static_cast<int>(columns) : most_columns};
}

template <typename T, int kTaps>
GF_INLINE void ResultsOf(const WinogradTensor& tensor, const WinogradSpace& from,
                         const WinogradTile* tiles, int64_t count, const float* bias, bool relu,
                         T* y) {
  for (int64_t i = 0; i < count; ++i) {
    const WinogradTile& tile = tiles[i];
    const int rows = tile.size[0], columns = tile.size[1];
    const Extent extent = ExtentOf(tensor, tile, kTaps);
    for (int64_t channel = 0; channel < tensor.channels; channel += kLanes) {
      const float* const in = from.data + i * from.tile_step + channel;
      Grid grid;
      WithSize(rows, [&](auto size) {
        for (int c = 0; c < columns; ++c) {
          Interpolate<size.kValue, size.kValue - kTaps + 1>(
              [&](int r) { return LoadVec<kLanes>(in + (r * from.points + c) * from.point_step); },
              [&](int r, V value) { grid[r][c] = value; });
        }
      });
      const V offset = bias != nullptr ? LoadVec<kLanes>(bias + channel) : V{};
      T* const to = Channel(tensor, y, tile.image, channel) +
                    (tile.result[0] * tensor.width + tile.result[1]) * tensor.block;
      WithSize(columns, [&](auto size) {
        for (int r = 0; r < extent.rows; ++r) {
          T* const row = to + r * tensor.width * tensor.block;
          Interpolate<size.kValue, size.kValue - kTaps + 1>(
              [&](int c) { return grid[r][c]; },
              [&](int c, V value) {
                if (c >= extent.columns) return;
                value += offset;
                StoreVec<kLanes>(row + c * tensor.block, relu ? Relu<kLanes>(value) : value);
              });
        }
      });
    }
  }
}

template <typename T>
void Results(const WinogradTensor& tensor, const WinogradSpace& from, const WinogradTile* tiles,
             int64_t count, int taps, const float* bias, bool relu, T* y) {
  WithTaps(taps, [&](auto number) {
    ResultsOf<T, number.kValue>(tensor, from, tiles, count, bias, relu, y);
  });
}

template <typename T, int kTaps>
GF_INLINE void GradientsOf(const WinogradTensor& tensor, const T* dy, const WinogradTile* tiles,
                           int64_t count, const WinogradSpace& to, float* sums) {
  for (int64_t i = 0; i < count; ++i) {
    const WinogradTile& tile = tiles[i];
    const int rows = tile.size[0], columns = tile.size[1];
    const Extent extent = ExtentOf(tensor, tile, kTaps);
    for (int64_t channel = 0; channel < tensor.channels; channel += kLanes) {
      const T* const from = Channel(tensor, dy, tile.image, channel) +
                            (tile.result[0] * tensor.width + tile.result[1]) * tensor.block;
      Grid grid;
      V sum = {};
      WithSize(rows, [&](auto size) {
        for (int c = 0; c <= columns - kTaps; ++c) {
          Evaluate<size.kValue, size.kValue - kTaps + 1>(
              [&](int r) {
                if (r >= extent.rows || c >= extent.columns) return V{};
                const V value = LoadVec<kLanes>(from + (r * tensor.width + c) * tensor.block);
                sum += value;
                return value;
              },
              [&](int r, V value) { grid[r][c] = value; });
        }
      });
      if (sums != nullptr) StoreVec<kLanes>(sums + i * tensor.channels + channel, sum);
      float* const out = to.data + i * to.tile_step + channel;
      WithSize(columns, [&](auto size) {
        for (int r = 0; r < rows; ++r) {
          float* const row = out + r * to.points * to.point_step;
          Evaluate<size.kValue, size.kValue - kTaps + 1>(
              [&](int c) { return grid[r][c]; },
              [&](int c, V value) { StoreVec<kLanes>(row + c * to.point_step, value); });
        }
      });
    }
  }
}

template <typename T>
void Gradients(const WinogradTensor& tensor, const T* dy, const WinogradTile* tiles, int64_t count,
               int taps, const WinogradSpace& to, float* sums) {
  WithTaps(taps,
           [&](auto number) { GradientsOf<T, number.kValue>(tensor, dy, tiles, count, to, sums); });
}

void Filter(const float* filter, int taps, int points, float* to, int64_t step) {
  WithTaps(taps, [&](auto number) {
    WithSize(points, [&](auto size) {
      Grid grid;
      for (int c = 0; c < taps; ++c) {
        Evaluate<size.kValue, number.kValue>(
            [&](int r) { return LoadVec<kLanes>(filter + (r * taps + c) * kLanes); },
            [&](int r, V value) { grid[r][c] = value; });
      }
      for (int r = 0; r < points; ++r) {
        Evaluate<size.kValue, number.kValue>(
            [&](int c) { return grid[r][c]; },
            [&](int c, V value) { StoreVec<kLanes>(to + (r * points + c) * step, value); });
      }
    });
  });
}

void FilterGradient(const float* from, int64_t step, int points, int taps, float* gradient) {
  WithTaps(taps, [&](auto number) {
    WithSize(points, [&](auto size) {
      Grid grid;
      for (int c = 0; c < points; ++c) {
        Interpolate<size.kValue, number.kValue>(
            [&](int r) { return LoadVec<kLanes>(from + (r * points + c) * step); },
            [&](int r, V value) { grid[r][c] = value; });
      }
      for (int r = 0; r < taps; ++r) {
        Interpolate<size.kValue, number.kValue>(
            [&](int c) { return grid[r][c]; },
            [&](int c, V value) { StoreVec<kLanes>(gradient + (r * taps + c) * kLanes, value); });
      }
    });
  });
}

// Rows whose sums stay in registers.
constexpr int kMostRows = kLanes == 16 ? 12 : 4;

template <int kCount, int kVectors>
void MultiplyRows(const WinogradProduct& p, int64_t first) {
  float* const c = p.c + first * p.c_row;
  V sums[kCount][kVectors];
  for (int i = 0; i < kCount; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      sums[i][v] = p.add ? LoadVec<kLanes>(c + i * p.c_row + v * kLanes) : V{};
    }
  }
  // Few pointers, so that they stay in registers, too.
  constexpr int kTogether = 3, kPointers = (kCount + kTogether - 1) / kTogether;
  const float* a[kPointers];
  for (int i = 0; i < kPointers; ++i) a[i] = p.a + (first + i * kTogether) * p.a_row;
  const float* b = p.b;
  for (int64_t k = 0; k < p.depth; ++k) {
    V vectors[kVectors];
    for (int v = 0; v < kVectors; ++v) vectors[v] = LoadVec<kLanes>(b + v * kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < kCount; ++i) {
      const V value = Broadcast<kLanes>(a[i / kTogether][i % kTogether * p.a_row]);
      for (int v = 0; v < kVectors; ++v) sums[i][v] += value * vectors[v];
    }
    for (int i = 0; i < kPointers; ++i) a[i] += p.a_step;
    b += p.b_step;
  }
  for (int i = 0; i < kCount; ++i) {
    for (int v = 0; v < kVectors; ++v) StoreVec<kLanes>(c + i * p.c_row + v * kLanes, sums[i][v]);
  }
}

// Parts of nearly equal numbers of rows.
template <int kVectors>
GF_INLINE void MultiplyAll(const WinogradProduct& p) {
  const int64_t parts = (p.rows + kMostRows - 1) / kMostRows;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = p.rows * part / parts, count = p.rows * (part + 1) / parts - first;
    ForEach<kMostRows>([&](auto i) {
      if (count == i.kValue + 1) MultiplyRows<i.kValue + 1, kVectors>(p, first);
    });
  }
}

void Multiply(const WinogradProduct& p) {
  p.columns == kLanes ? MultiplyAll<1>(p) : MultiplyAll<2>(p);
}

}  // namespace

GF_SIMD_DEFINE(WinogradKernels, WinogradTable) = {
    kLanes,
    {&Images<float>, &Results<float>, &Gradients<float>},
    {&Images<uint16_t>, &Results<uint16_t>, &Gradients<uint16_t>},
    &Filter,
    &FilterGradient,
    &Multiply};

}  // namespace gf
