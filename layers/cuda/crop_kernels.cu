#include "core/cuda/items_inline.h"
#include "layers/cuda/crop_kernels.h"

namespace gf {
namespace {

// A row is an index of the first axis. Extents and shifts are in units.
template <typename Unit>
struct ShiftedCopy {
  int axes;
  FastDivide to[CropView::kMostAxes];
  int64_t from[CropView::kMostAxes], shift[CropView::kMostAxes];
  int64_t row_items;
  const Unit* source;
  Unit* target;

  __device__ void Run(int64_t first, uint32_t item) const {
    int64_t at = 0, stride = 1;
    bool inside = true;
    uint32_t rest = item;
    for (int i = axes - 1; i >= 0; --i) {
      int64_t index;
      if (i > 0) {
        const FastDivide::Result split = to[i].Divide(rest);
        index = split.remainder + shift[i];
        rest = split.quotient;
      } else {
        index = first + rest + shift[0];
      }
      inside = inside && index >= 0 && index < from[i];
      at += index * stride;
      stride *= from[i];
    }
    target[first * row_items + item] = inside ? source[at] : Unit{};
  }
};

// Units of the last axis, in all that depends on its extents.
template <int kBytes>
void CopyUnits(const CropView& view, size_t element_bytes, const void* from, void* to,
               cudaStream_t stream) {
  using Unit = Pack<uint16_t, kBytes / 2>;
  ShiftedCopy<Unit> f = {};
  f.axes = view.axes;
  f.row_items = 1;
  int64_t rows = 0;
  for (int i = 0; i < view.axes; ++i) {
    const int64_t unit =
        i == view.axes - 1 ? kBytes / static_cast<int64_t>(element_bytes) : int64_t{1};
    const int64_t extent = view.to[i] / unit;
    if (i == 0) {
      rows = extent;
    } else {
      f.to[i] = FastDivide(static_cast<uint32_t>(extent));
      f.row_items *= extent;
    }
    f.from[i] = view.from[i] / unit;
    f.shift[i] = view.shift[i] / unit;
  }
  f.source = static_cast<const Unit*>(from);
  f.target = static_cast<Unit*>(to);
  ForItems(GroupsOf(rows, f.row_items), f, stream);
}

}  // namespace

void CopyShifted(const CropView& view, size_t element_bytes, const void* from, void* to,
                 cudaStream_t stream) {
  const int last = view.axes - 1;
  const auto extents = static_cast<uint64_t>(view.to[last] | view.from[last] | view.shift[last]);
  const uint64_t all =
      reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to) | extents * element_bytes;
  if (all % 16 == 0) return CopyUnits<16>(view, element_bytes, from, to, stream);
  if (all % 4 == 0) return CopyUnits<4>(view, element_bytes, from, to, stream);
  CopyUnits<2>(view, element_bytes, from, to, stream);
}

}  // namespace gf
