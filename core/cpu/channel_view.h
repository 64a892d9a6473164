#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace gf {

// View of an image tensor (N, C and up to two spatial axes) as [n][blocks][spatial][block]: channel
// c is lane c % block of block c / block. Plain: block = 1; NHWC: blocks = 1; nChw16c: block = 16.
// channels <= blocks * block; the remaining lanes are padding and must stay zero.
struct ChannelView {
  int64_t n = 0, channels = 0, blocks = 0, spatial = 0, block = 0;
  bool channels_last = false;  // NHWC
  int64_t padded_channels() const { return blocks * block; }
};

// Sets *view and returns true if the tensor has that form.
bool GetChannelView(const TensorDesc& desc, ChannelView* view);

// The layout of a tensor with the shape and type of `desc` whose channels are stored as those of
// the tensor of `view`, which may have another size but as many axes.
Layout LayoutLike(const ChannelView& view, const TensorDesc& desc);

}  // namespace gf
