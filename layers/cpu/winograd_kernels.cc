#include "layers/cpu/winograd_kernels.h"

#include "core/simd_vector.h"
#include "layers/cpu/winograd_transforms.h"

namespace gf {
namespace {

// Pixel (0, 0) of a channel.
template <typename T>
GF_INLINE T* Channel(const WinogradTensor& tensor, T* data, int64_t image, int64_t channel) {
  const int64_t pixels = tensor.height * tensor.width, block = channel / tensor.block;
  return data + (image * tensor.channels + block * tensor.block) * pixels + channel % tensor.block;
}

// Into the second cache.
GF_INLINE void Prefetch(const void* p) { __builtin_prefetch(p, /*rw=*/0, /*locality=*/2); }

// Columns first, then rows: the vectors in between.
using Grid = V[kMost][kMost];

// Pixel (0, 0) of a tile.
template <typename T>
GF_INLINE const T* TilePixels(const WinogradTensor& tensor, const T* x, const WinogradTile& tile,
                              const int64_t pad[2], int64_t channel) {
  const int64_t top = tile.result[0] - pad[0], left = tile.result[1] - pad[1];
  return Channel(tensor, x, tile.image, channel) + (top * tensor.width + left) * tensor.block;
}

template <typename T>
void Images(const WinogradTensor& tensor, const T* x, const WinogradTile* tiles, int64_t count,
            int taps, const int64_t pad[2], const WinogradSpace& to) {
  const int64_t height = tensor.height, width = tensor.width, step = tensor.block;
  const int64_t point_step = to.point_step, row_step = to.points * point_step;
  for (int64_t i = 0; i < count; ++i) {
    const WinogradTile tile = tiles[i], next_tile = tiles[i + 1 < count ? i + 1 : i];
    const int rows = tile.size[0], columns = tile.size[1];
    const int64_t top = tile.result[0] - pad[0], left = tile.result[1] - pad[1];
    const bool inside = top >= 0 && left >= 0 && top + rows <= height && left + columns <= width;
    for (int64_t channel = 0; channel < tensor.channels; channel += kLanes) {
      const T* const from = TilePixels(tensor, x, tile, pad, channel);
      const T* const next = TilePixels(tensor, x, next_tile, pad, channel);
      Grid grid;
      WithSize(rows, [&](auto size) {
        for (int c = 0; c < columns; ++c) {
          const auto store = [&](int r, V value) { grid[r][c] = value; };
          const auto pixel = [&](int r) { return LoadVec<kLanes>(from + (r * width + c) * step); };
          const bool exists = left + c >= 0 && left + c < width;
          for (int r = 0; r < size.kValue; ++r) Prefetch(next + (r * width + c) * step);
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
          float* const row = out + r * row_step;
          TransformImages<size.kValue>(
              [&](int c) { return grid[r][c]; },
              [&](int c, V value) { StoreVec<kLanes>(row + c * point_step, value); });
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
GF_INLINE void ResultsOf(const WinogradTensor& tensor, int64_t first, int64_t channels,
                         const WinogradSpace& from, const WinogradTile* tiles, int64_t count,
                         const float* bias, bool relu, T* y) {
  // A vector of BF16 is half a cache line, which is slow.
  const bool stream = tensor.large && sizeof(T) == sizeof(float);
  for (int64_t i = 0; i < count; ++i) {
    const WinogradTile& tile = tiles[i];
    const int rows = tile.size[0], columns = tile.size[1];
    const Extent extent = ExtentOf(tensor, tile, kTaps);
    for (int64_t channel = first; channel < first + channels; channel += kLanes) {
      const float* const in = from.data + i * from.tile_step + channel - first;
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
                if (relu) value = Relu<kLanes>(value);
                if (stream) {
                  StreamVec<kLanes>(row + c * tensor.block, value);
                } else {
                  StoreVec<kLanes>(row + c * tensor.block, value);
                }
              });
        }
      });
    }
  }
}

template <typename T>
void Results(const WinogradTensor& tensor, int64_t first, int64_t channels,
             const WinogradSpace& from, const WinogradTile* tiles, int64_t count, int taps,
             const float* bias, bool relu, T* y) {
  WithTaps(taps, [&](auto number) {
    ResultsOf<T, number.kValue>(tensor, first, channels, from, tiles, count, bias, relu, y);
  });
}

template <typename T, int kTaps>
GF_INLINE void GradientsOf(const WinogradTensor& tensor, const T* dy, const WinogradTile* tiles,
                           int64_t count, const WinogradSpace& to, float* sums) {
  for (int64_t i = 0; i < count; ++i) {
    const WinogradTile tile = tiles[i], next_tile = tiles[i + 1 < count ? i + 1 : i];
    const int rows = tile.size[0], columns = tile.size[1];
    const Extent extent = ExtentOf(tensor, tile, kTaps);
    constexpr int64_t kNoPad[2] = {0, 0};
    for (int64_t channel = 0; channel < tensor.channels; channel += kLanes) {
      const T* const from = TilePixels(tensor, dy, tile, kNoPad, channel);
      const T* const next = TilePixels(tensor, dy, next_tile, kNoPad, channel);
      Grid grid;
      V sum = {};
      WithSize(rows, [&](auto size) {
        for (int c = 0; c <= columns - kTaps; ++c) {
          for (int r = 0; r <= size.kValue - kTaps; ++r) {
            Prefetch(next + (r * tensor.width + c) * tensor.block);
          }
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
