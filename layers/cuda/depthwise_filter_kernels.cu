#include "layers/cuda/column_sums_inline.h"
#include "layers/cuda/depthwise_inline.h"

namespace gf {
namespace {

// Note [Gradients of depthwise filters]
// A block sums the products of x and dy over a part of the pixels of dy for kWidth neighboring taps
// of one row of the filters of some channels. Each thread keeps the sums of kCount channels in
// registers; then the threads of a channel are added up, and a second kernel adds up the parts in
// their order. Blocks for the rows of the filters are neighbors in the grid, so that they run at
// the same time and share what they read in the cache. The number of parts depends on the shape
// alone.
struct FilterPlan {
  ItemGroups groups;  // of images; an item is a pixel of dy
  dim3 block, grid;   // grid.x: groups of taps, y: channels, z: parts of all groups of images
  unsigned parts;     // of a group of images
  uint32_t pixels;    // of a part
  int across;         // groups of taps in a row of a filter

  // count: channels of a thread; width: taps of a thread.
  FilterPlan(const ConvolutionShape& s, int count, int width)
      : groups(GroupsOf(s.n, s.out[0] * s.out[1])) {
    constexpr int64_t kPixelsOfAThread = 16, kMostBlocks = 2048;
    const int packs = static_cast<int>(s.outputs) / count;
    const int threads = ThreadsAcross(packs, static_cast<int>(SumsAcross(count)));
    block = dim3(static_cast<unsigned>(threads), static_cast<unsigned>(kThreads / threads));
    across = (static_cast<int>(s.kernel[1]) + width - 1) / width;
    const int64_t taps = s.kernel[0] * across, tiles = (packs + threads - 1) / threads;
    const int64_t all = groups.rows_of_group * groups.items;
    const int64_t least = kPixelsOfAThread * block.y;
    const int64_t wanted =
        std::min((all + least - 1) / least, std::max<int64_t>(1, kMostBlocks / (taps * tiles)));
    const int64_t each = (all + wanted - 1) / wanted;
    pixels = static_cast<uint32_t>(each);
    parts = static_cast<unsigned>((all + each - 1) / each);
    grid = dim3(static_cast<unsigned>(taps), static_cast<unsigned>(tiles),
                parts * static_cast<unsigned>(groups.count()));
  }
};

// Calls f(count, width) with constants: the numbers of channels and of taps of a thread.
template <typename T, typename F>
void WithFilterSizes(const ConvolutionShape& s, const F& f) {
  WithDepthwisePacks<T>(s, [&](auto count) {
    if constexpr (decltype(count)::value > 1) {
      if (s.kernel[1] == 3) return f(count, std::integral_constant<int, 3>());
      if (s.kernel[1] == 5) return f(count, std::integral_constant<int, 5>());
      if (s.kernel[1] == 7) return f(count, std::integral_constant<int, 7>());
    }
    f(count, std::integral_constant<int, 1>());
  });
}

template <typename T, int kCount, int kWidth>
struct FilterSums {
  DepthwiseWindow window;
  FastDivide columns, rows, multiplier;
  Images<const T> x, dy;

  // Adds the products of a pixel of dy with inputs of row `r` of the filters, from column `q` on.
  __device__ void Add(int64_t first_image, uint32_t pixel, int channel, int r, int q,
                      Floats<kCount>* sums) const {
    const FastDivide::Result column = columns.Divide(pixel), row = rows.Divide(column.quotient);
    const int i = static_cast<int>(row.remainder), j = static_cast<int>(column.remainder);
    const int64_t image = first_image + row.quotient;
    const int h = window.Begin(0, i) + r * window.dilation[0];
    if (static_cast<unsigned>(h) >= static_cast<unsigned>(x.height)) return;
    const Floats<kCount> gradient = LoadFloats<kCount>(dy.At(image, channel) + dy.Offset(i, j));
    const T* const from = x.At(image, static_cast<int>(multiplier.Quotient(channel)));
#pragma unroll
    for (int t = 0; t < kWidth; ++t) {
      const int v = window.Begin(1, j) + (q + t) * window.dilation[1];
      if (x.Has(h, v)) MultiplyAdd(LoadFloats<kCount>(from + x.Offset(h, v)), gradient, &sums[t]);
    }
  }
};

// partial: [parts of all groups][taps][outputs].
template <typename T, int kCount, int kWidth>
__global__ void __launch_bounds__(kThreads, 2)
    FilterKernel(FilterPlan plan, FilterSums<T, kCount, kWidth> f, float* partial) {
  alignas(32) __shared__ float shared[kThreads * kCount];
  const int tile = static_cast<int>(blockDim.x) * kCount;
  const int first = static_cast<int>(blockIdx.y) * tile;
  const int channel = first + static_cast<int>(threadIdx.x) * kCount;
  const int r = static_cast<int>(blockIdx.x) / plan.across;
  const int q = (static_cast<int>(blockIdx.x) - r * plan.across) * kWidth;
  const unsigned group = blockIdx.z / plan.parts, part = blockIdx.z - group * plan.parts;
  const int64_t first_image = group * plan.groups.rows_of_group;
  const int64_t images = min(plan.groups.rows_of_group, plan.groups.rows - first_image);
  const uint32_t count = static_cast<uint32_t>(images) * static_cast<uint32_t>(plan.groups.items);
  const uint32_t begin = part * plan.pixels, end = min(count, begin + plan.pixels);
  Floats<kCount> sums[kWidth] = {};
  if (channel < f.dy.channels) {
    for (uint32_t i = begin + threadIdx.y; i < end; i += blockDim.y) {
      f.Add(first_image, i, channel, r, q, sums);
    }
  }
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const int output = first + thread;
  const int64_t taps = int64_t{f.window.kernel[0]} * f.window.kernel[1];
  const int64_t tap = int64_t{blockIdx.z} * taps + r * f.window.kernel[1] + q;
#pragma unroll
  for (int t = 0; t < kWidth; ++t) {
    const float sum = SumOverThreads<kCount, 1>(&sums[t], shared);
    __syncthreads();  // the next sum reuses the memory
    if (thread < tile && output < f.dy.channels) {
      partial[(tap + t) * f.dy.channels + output] = sum;
    }
  }
}

template <typename T>
struct SumParts {
  const float* partial;
  T* dw;
  FastDivide outputs;
  int parts, taps;

  // Element i of [taps][outputs].
  template <int kCount>
  __device__ void Run(int64_t i) const {
    const FastDivide::Result at = outputs.Divide(static_cast<uint32_t>(i));
    const int64_t count = int64_t{taps} * outputs.divisor();
    float sum = 0;
#pragma unroll 4
    for (int part = 0; part < parts; ++part) sum += partial[part * count + i];
    dw[int64_t{at.remainder} * taps + at.quotient] = FromFloat<T>(sum);
  }
};

template <typename T>
void Run(const ConvolutionShape& s, const void* x, void* dw, const void* dy, float* partial,
         cudaStream_t stream) {
  WithFilterSizes<T>(s, [&](auto count, auto width) {
    constexpr int kCount = decltype(count)::value, kWidth = decltype(width)::value;
    const FilterPlan plan(s, kCount, kWidth);
    const FilterSums<T, kCount, kWidth> f = {DepthwiseWindow(s),
                                             FastDivide(static_cast<uint32_t>(s.out[1])),
                                             FastDivide(static_cast<uint32_t>(s.out[0])),
                                             FastDivide(static_cast<uint32_t>(MultiplierOf(s))),
                                             ImagesOf(s, static_cast<const T*>(x)),
                                             ResultsOf(s, static_cast<const T*>(dy))};
    Launch({plan.grid, plan.block, stream}, FilterKernel<T, kCount, kWidth>, plan, f, partial);
    const SumParts<T> sum = {
        partial, static_cast<T*>(dw), FastDivide(static_cast<uint32_t>(s.outputs)),
        static_cast<int>(plan.grid.z), static_cast<int>(s.kernel[0] * s.kernel[1])};
    Elementwise<1>(s.w_count(), sum, stream);
  });
}

}  // namespace

size_t DepthwiseFilterBytes(const ConvolutionShape& shape, DType type) {
  size_t bytes = 0;
  WithType(type, [&](auto t) {
    WithFilterSizes<decltype(t)>(shape, [&](auto count, auto width) {
      const FilterPlan plan(shape, count, width);
      bytes = plan.grid.z * sizeof(float) * static_cast<size_t>(shape.w_count());
    });
  });
  return bytes;
}

void DepthwiseBackwardFilter(const ConvolutionShape& shape, DType type, const void* x, void* dw,
                             const void* dy, void* workspace, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    Run<decltype(t)>(shape, x, dw, dy, static_cast<float*>(workspace), stream);
  });
}

}  // namespace gf
