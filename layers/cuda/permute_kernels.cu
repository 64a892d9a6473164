#include "core/cuda/items_inline.h"
#include "layers/cuda/permute_kernels.h"

namespace gf {
namespace {

// A row is an index of the first axis.
template <typename T>
struct Gather {
  int axes;
  FastDivide dims[PermuteView::kMostAxes];
  int64_t strides[PermuteView::kMostAxes];
  int64_t row_items;
  const T* from;
  T* to;

  __device__ void Run(int64_t first, uint32_t item) const {
    int64_t at = 0;
    uint32_t rest = item;
    for (int i = axes - 1; i > 0; --i) {
      const FastDivide::Result split = dims[i].Divide(rest);
      at += split.remainder * strides[i];
      rest = split.quotient;
    }
    to[first * row_items + item] = from[at + (first + rest) * strides[0]];
  }
};

template <typename T>
void PermuteElements(const PermuteView& view, const void* from, void* to, cudaStream_t stream) {
  Gather<T> f = {};
  f.axes = view.axes;
  f.row_items = 1;
  f.strides[0] = view.strides[0];
  for (int i = 1; i < view.axes; ++i) {
    f.dims[i] = FastDivide(static_cast<uint32_t>(view.dims[i]));
    f.strides[i] = view.strides[i];
    f.row_items *= view.dims[i];
  }
  f.from = static_cast<const T*>(from);
  f.to = static_cast<T*>(to);
  ForItems(GroupsOf(view.dims[0], f.row_items), f, stream);
}

}  // namespace

void Permute(const PermuteView& view, size_t element_bytes, const void* from, void* to,
             cudaStream_t stream) {
  if (element_bytes == 2) {
    PermuteElements<uint16_t>(view, from, to, stream);
  } else {
    PermuteElements<uint32_t>(view, from, to, stream);
  }
}

}  // namespace gf
