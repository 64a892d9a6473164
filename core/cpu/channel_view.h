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

// The layout that stores the channels of `desc` as the tensor of `view` stores its own. Both have
// the same number of axes; their sizes may differ.
Layout LayoutLike(const ChannelView& view, const TensorDesc& desc);

}  // namespace gf
