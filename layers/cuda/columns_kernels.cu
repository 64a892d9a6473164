#include "layers/cuda/columns_inline.h"

namespace gf {

size_t ColumnSumsBytes(const ColumnsView& view, DType type, int sums) {
  int parts = 0;
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const ColumnsGrid g(view, PacksColumns<T>(view) ? kPack<T> : 1, kSumBlocks);
    parts = static_cast<int>(g.grid.y);
  });
  return sizeof(float) * parts * sums * view.columns;
}

}  // namespace gf
