#include "core/cpu/channel_view.h"

#include "core/cpu/dnnl.h"

namespace gf {

bool GetChannelView(const TensorDesc& desc, ChannelView* view) {
  const int rank = desc.shape.rank();
  if (rank < 2) return false;
  view->n = desc.shape[0];
  view->channels = desc.shape[1];
  view->spatial = desc.shape.count(2, rank);
  if (desc.layout.plain()) {
    view->block = 1;
    view->blocks = view->channels;
    return true;
  }
  const dnnl::memory::desc md = ToDnnl(desc);
  const auto& b = md.data.format_desc.blocking;
  const auto is = [&](dnnl::memory::format_tag tag) {
    return md == dnnl::memory::desc(desc.shape.dims(), ToDnnl(desc.dtype), tag);
  };
  if (rank == 4 && is(dnnl::memory::format_tag::nhwc)) {
    view->block = view->channels;
    view->blocks = 1;
    return true;
  }
  if (rank != 4 || b.inner_nblks != 1 || b.inner_idxs[0] != 1) return false;
  if (!is(dnnl::memory::format_tag::nChw16c) && !is(dnnl::memory::format_tag::nChw8c) &&
      !is(dnnl::memory::format_tag::nChw4c)) {
    return false;
  }
  view->block = b.inner_blks[0];
  view->blocks = md.data.padded_dims[1] / view->block;
  return true;
}

}  // namespace gf
