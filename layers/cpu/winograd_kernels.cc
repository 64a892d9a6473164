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

template <typename T, WinogradForm kForm>
GF_INLINE void ImagesOfForm(const WinogradTensor& tensor, const T* x, const WinogradTile* tiles,
                            int64_t count, const int64_t pad[2], const WinogradSpace& to) {
  const int64_t height = tensor.height, width = tensor.width, step = tensor.block;
  const int64_t point_step = to.point_step, row_step = to.points * point_step;
  // The first pixel of a tile.
  const auto top_of = [&](const WinogradTile& tile) {
    return FirstPixelOf(kForm, tile.result[0], pad[0]);
  };
  const auto left_of = [&](const WinogradTile& tile) {
    return FirstPixelOf(kForm, tile.result[1], pad[1]);
  };
  const auto pixels = [&](const WinogradTile& tile, int64_t channel) {
    return Channel(tensor, x, tile.image, channel) + (top_of(tile) * width + left_of(tile)) * step;
  };
  for (int64_t i = 0; i < count; ++i) {
    const WinogradTile tile = tiles[i], next_tile = tiles[i + 1 < count ? i + 1 : i];
    const int rows = PixelsOf(kForm, tile.size[0]), columns = PixelsOf(kForm, tile.size[1]);
    const int64_t top = top_of(tile), left = left_of(tile);
    const bool inside = top >= 0 && left >= 0 && top + rows <= height && left + columns <= width;
    for (int64_t channel = 0; channel < tensor.channels; channel += kLanes) {
      const T* const from = pixels(tile, channel);
      const T* const next = pixels(next_tile, channel);
      Grid grid;
      WithAxis<kForm>(tile.size[0], [&](auto axis) {
        for (int c = 0; c < columns; ++c) {
          const auto store = [&](int r, V value) { grid[r][c] = value; };
          const auto pixel = [&](int r) { return LoadVec<kLanes>(from + (r * width + c) * step); };
          const bool exists = left + c >= 0 && left + c < width;
          for (int r = 0; r < axis.kPixels; ++r) Prefetch(next + (r * width + c) * step);
          if (inside) {
            axis.Pixels(pixel, store);
          } else {
            axis.Pixels(
                [&](int r) { return exists && top + r >= 0 && top + r < height ? pixel(r) : V{}; },
                store);
          }
        }
      });
      float* const out = to.data + i * to.tile_step + channel;
      WithAxis<kForm>(tile.size[1], [&](auto axis) {
        for (int r = 0; r < tile.size[0]; ++r) {
          float* const row = out + r * row_step;
          axis.Pixels([&](int c) { return grid[r][c]; },
                      [&](int c, V value) { StoreVec<kLanes>(row + c * point_step, value); });
        }
      });
    }
  }
}

template <typename T>
void Images(const WinogradTensor& tensor, const T* x, const WinogradTile* tiles, int64_t count,
            WinogradForm form, const int64_t pad[2], const WinogradSpace& to) {
  using Form = WinogradForm;
  // Pixels are transformed in the same way for any number of taps.
  if (form == Form::kFiveTaps) form = Form::kThreeTaps;
  WithForm<Form::kThreeTaps, Form::kStride2, Form::kStride2Data>(form, [&](auto constant) {
    ImagesOfForm<T, constant.kValue>(tensor, x, tiles, count, pad, to);
  });
}

// A tile's results that exist.
struct Extent {
  int rows, columns;
};
GF_INLINE Extent ExtentOf(const WinogradTensor& tensor, const WinogradTile& tile,
                          WinogradForm form) {
  const int64_t rows = tensor.height - tile.result[0], columns = tensor.width - tile.result[1];
  const int most_rows = ResultsOf(form, tile.size[0]), most_columns = ResultsOf(form, tile.size[1]);
  return {rows < most_rows ? static_cast<int>(rows) : most_rows,
          columns < most_columns ? static_cast<int>(columns) : most_columns};
}

// The tile's first result.
template <typename T>
GF_INLINE T* TileResults(const WinogradTensor& tensor, T* y, const WinogradTile& tile,
                         int64_t channel) {
  return Channel(tensor, y, tile.image, channel) +
         (tile.result[0] * tensor.width + tile.result[1]) * tensor.block;
}

template <typename T, WinogradForm kForm>
GF_INLINE void ResultsOfForm(const WinogradTensor& tensor, int64_t first, int64_t channels,
                             const WinogradSpace& from, const WinogradTile* tiles, int64_t count,
                             const float* bias, bool relu, T* y) {
  // A vector of BF16 is half a cache line, which is slow.
  const bool stream = tensor.large && sizeof(T) == sizeof(float);
  for (int64_t i = 0; i < count; ++i) {
    const WinogradTile& tile = tiles[i];
    const Extent extent = ExtentOf(tensor, tile, kForm);
    for (int64_t channel = first; channel < first + channels; channel += kLanes) {
      const float* const in = from.data + i * from.tile_step + channel - first;
      Grid grid;
      WithAxis<kForm>(tile.size[0], [&](auto axis) {
        for (int c = 0; c < tile.size[1]; ++c) {
          axis.Results(
              [&](int r) { return LoadVec<kLanes>(in + (r * from.points + c) * from.point_step); },
              [&](int r, V value) { grid[r][c] = value; });
        }
      });
      const V offset = bias != nullptr ? LoadVec<kLanes>(bias + channel) : V{};
      T* const to = TileResults(tensor, y, tile, channel);
      WithAxis<kForm>(tile.size[1], [&](auto axis) {
        for (int r = 0; r < extent.rows; ++r) {
          T* const row = to + r * tensor.width * tensor.block;
          axis.Results([&](int c) { return grid[r][c]; },
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
             const WinogradSpace& from, const WinogradTile* tiles, int64_t count, WinogradForm form,
             const float* bias, bool relu, T* y) {
  using Form = WinogradForm;
  WithForm<Form::kThreeTaps, Form::kFiveTaps, Form::kStride2, Form::kStride2Data>(
      form, [&](auto constant) {
        ResultsOfForm<T, constant.kValue>(tensor, first, channels, from, tiles, count, bias, relu,
                                          y);
      });
}

template <typename T, WinogradForm kForm>
GF_INLINE void GradientsOfForm(const WinogradTensor& tensor, const T* dy, const WinogradTile* tiles,
                               int64_t count, const WinogradSpace& to, float* sums) {
  for (int64_t i = 0; i < count; ++i) {
    const WinogradTile tile = tiles[i], next_tile = tiles[i + 1 < count ? i + 1 : i];
    const Extent extent = ExtentOf(tensor, tile, kForm);
    for (int64_t channel = 0; channel < tensor.channels; channel += kLanes) {
      const T* const from = TileResults(tensor, dy, tile, channel);
      const T* const next = TileResults(tensor, dy, next_tile, channel);
      Grid grid;
      V sum = {};
      WithAxis<kForm>(tile.size[0], [&](auto axis) {
        for (int c = 0; c < ResultsOf(kForm, tile.size[1]); ++c) {
          for (int r = 0; r < axis.kResults; ++r) {
            Prefetch(next + (r * tensor.width + c) * tensor.block);
          }
          axis.Gradients(
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
      WithAxis<kForm>(tile.size[1], [&](auto axis) {
        for (int r = 0; r < tile.size[0]; ++r) {
          float* const row = out + r * to.points * to.point_step;
          axis.Gradients([&](int c) { return grid[r][c]; },
                         [&](int c, V value) { StoreVec<kLanes>(row + c * to.point_step, value); });
        }
      });
    }
  }
}

template <typename T>
void Gradients(const WinogradTensor& tensor, const T* dy, const WinogradTile* tiles, int64_t count,
               WinogradForm form, const WinogradSpace& to, float* sums) {
  using Form = WinogradForm;
  WithForm<Form::kThreeTaps, Form::kFiveTaps, Form::kStride2>(form, [&](auto constant) {
    GradientsOfForm<T, constant.kValue>(tensor, dy, tiles, count, to, sums);
  });
}

// Calls body(axis) for a form of filters.
template <typename Body>
GF_INLINE void WithFilterAxis(WinogradForm form, int points, const Body& body) {
  using Form = WinogradForm;
  if (form == Form::kStride2Data) form = Form::kStride2;
  WithForm<Form::kThreeTaps, Form::kFiveTaps, Form::kStride2>(
      form, [&](auto constant) { WithAxis<constant.kValue>(points, body); });
}

void Filter(const float* filter, WinogradForm form, int points, float* to, int64_t step) {
  WithFilterAxis(form, points, [&](auto axis) {
    Grid grid;
    for (int c = 0; c < axis.kTaps; ++c) {
      axis.Filter([&](int r) { return LoadVec<kLanes>(filter + (r * axis.kTaps + c) * kLanes); },
                  [&](int r, V value) { grid[r][c] = value; });
    }
    for (int r = 0; r < axis.kFilterPoints; ++r) {
      axis.Filter([&](int c) { return grid[r][c]; },
                  [&](int c, V value) {
                    StoreVec<kLanes>(to + (r * axis.kFilterPoints + c) * step, value);
                  });
    }
  });
}

void FilterGradient(const float* from, int64_t step, WinogradForm form, int points,
                    float* gradient) {
  WithFilterAxis(form, points, [&](auto axis) {
    Grid grid;
    for (int c = 0; c < axis.kFilterPoints; ++c) {
      axis.FilterGradient(
          [&](int r) { return LoadVec<kLanes>(from + (r * axis.kFilterPoints + c) * step); },
          [&](int r, V value) { grid[r][c] = value; });
    }
    for (int r = 0; r < axis.kTaps; ++r) {
      axis.FilterGradient([&](int c) { return grid[r][c]; },
                          [&](int c, V value) {
                            StoreVec<kLanes>(gradient + (r * axis.kTaps + c) * kLanes, value);
                          });
    }
  });
}

}  // namespace

GF_SIMD_DEFINE(WinogradKernels, WinogradTable) = {
    kLanes,
    {&Images<float>, &Results<float>, &Gradients<float>},
    {&Images<uint16_t>, &Results<uint16_t>, &Gradients<uint16_t>},
    &Filter,
    &FilterGradient};

}  // namespace gf
