#include "layers/cuda/column_sums_inline.h"

namespace gf {
namespace {

int64_t Attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  GF_CUDA(cudaGetDevice(&device));
  GF_CUDA(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

// For any kernel with kThreads threads.
int64_t MostResidentBlocks() {
  static const int64_t blocks = Attribute(cudaDevAttrMultiProcessorCount) *
                                Attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / kThreads;
  return blocks;
}

// Calls use(g, columns of a block), where g is the largest grid that SumColumns uses for the view.
template <typename F>
void WithLargestGrid(const ColumnsView& view, DType type, const F& use) {
  WithType(type, [&](auto t) {
    WithColumnCount<decltype(t)>(view, [&](auto count) {
      const ColumnsGrid g(view, count, SumsAcross(count), MostResidentBlocks());
      use(g.grid, g.block.x * count);
    });
  });
}

}  // namespace

int64_t ResidentBlocks(const void* kernel) {
  int blocks = 0;
  GF_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, 0));
  return std::max(blocks, 1) * Attribute(cudaDevAttrMultiProcessorCount);
}

size_t ColumnSumsBytes(const ColumnsView& view, DType type, int sums) {
  size_t bytes = 0;
  WithLargestGrid(view, type, [&](const dim3& blocks, unsigned columns) {
    bytes = sizeof(float) * blocks.x * blocks.y * sums * columns;
  });
  return bytes;
}

size_t ColumnCountersBytes(const ColumnsView& view, DType type) {
  size_t bytes = 0;
  WithLargestGrid(view, type,
                  [&](const dim3& blocks, unsigned) { bytes = sizeof(unsigned) * blocks.x; });
  return bytes;
}

}  // namespace gf
