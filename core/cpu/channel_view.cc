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
  const auto is = [&](dnnl::memory::format_tag tag) {
    return md == dnnl::memory::desc(desc.shape.dims(), ToDnnl(desc.dtype), tag);
  };
  if (rank == 4 && is(dnnl::memory::format_tag::nhwc)) {
    view->block = view->channels;
    view->blocks = 1;
    return true;
  }
  if (rank != 4) return false;
  if (is(dnnl::memory::format_tag::nChw16c)) {
    view->block = 16;
  } else if (is(dnnl::memory::format_tag::nChw8c)) {
    view->block = 8;
  } else if (is(dnnl::memory::format_tag::nChw4c)) {
    view->block = 4;
  } else {
    return false;
  }
  view->blocks = (view->channels + view->block - 1) / view->block;
  return true;
}

}  // namespace gf
