#include "core/cpu/channel_view.h"

#include "core/cpu/dnnl.h"

namespace gf {
namespace {

using tag = dnnl::memory::format_tag;

tag TagOf(const ChannelView& view) {
  if (view.channels_last) return tag::nhwc;
  switch (view.block) {
    case 4:
      return tag::nChw4c;
    case 8:
      return tag::nChw8c;
    case 16:
      return tag::nChw16c;
    default:
      return tag::undef;
  }
}

}  // namespace

bool GetChannelView(const TensorDesc& desc, ChannelView* view) {
  const int rank = desc.shape.rank();
  if (rank < 2) return false;
  view->channels_last = false;
  view->n = desc.shape[0];
  view->channels = desc.shape[1];
  view->spatial = desc.shape.count(2, rank);
  if (desc.layout.plain()) {
    view->block = 1;
    view->blocks = view->channels;
    return true;
  }
  const dnnl::memory::desc md = ToDnnl(desc);
  const auto is = [&](tag format) {
    return md == dnnl::memory::desc(desc.shape.dims(), ToDnnl(desc.dtype), format);
  };
  if (rank == 4 && is(tag::nhwc)) {
    view->channels_last = true;
    view->block = view->channels;
    view->blocks = 1;
    return true;
  }
  if (rank != 4) return false;
  if (is(tag::nChw16c)) {
    view->block = 16;
  } else if (is(tag::nChw8c)) {
    view->block = 8;
  } else if (is(tag::nChw4c)) {
    view->block = 4;
  } else {
    return false;
  }
  view->blocks = (view->channels + view->block - 1) / view->block;
  return true;
}

Layout LayoutLike(const ChannelView& view, const TensorDesc& desc) {
  const tag format = TagOf(view);
  if (format == tag::undef) return Layout();
  return FromDnnl({desc.shape.dims(), ToDnnl(desc.dtype), format});
}

}  // namespace gf
