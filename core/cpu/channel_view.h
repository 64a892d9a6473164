#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace gf {

// View of an image tensor (N, C and up to two spatial axes) as [n][blocks][spatial][block]: channel
// c is lane c % block of block c / block. Plain: block = 1; NHWC: blocks = 1; nChw16c: block = 16.
// channels <= blocks * block; the remaining lanes are padding and must stay zero.
struct ChannelView {
  int64_t n = 0, channels = 0, blocks = 0, spatial = 0, block = 0;
  int64_t padded_channels() const { return blocks * block; }
};

// Sets *view and returns true if the tensor has that form.
bool GetChannelView(const TensorDesc& desc, ChannelView* view);

}  // namespace gf
