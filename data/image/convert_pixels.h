#pragma once

#include <cstdint>

#include "data/image/image.h"

namespace gf {

// Converts `pixels` pixels from `from_format` to the form that `request` asks for. `from` and `to`
// are aligned to the sizes of their types and must not overlap.
//
// Channels, in the type of `from`: an equal number stays; 1 becomes 3 by repetition; 3 become 1 by
// 0.299 R + 0.587 G + 0.114 B; of 4 and 2 the last, transparency, is dropped for 3 and 1, and 4
// become 1 by way of 3; 3 and 1 get an opaque channel for 4 and 2 (255, 65535 or 1.0).
// Types, afterward: UINT8 becomes UINT16 times 257; UINT16 becomes UINT8 divided by 257 and rounded
// to nearest; both become FP32 as the same number.
//
// Throws SampleError "8 channels of UINT16, expected 3 of UINT8; set ..." for everything else, also
// if there are no pixels.
void ConvertPixels(const void* from, PixelFormat from_format, int64_t pixels,
                   const DecodeRequest& request, void* to);

}  // namespace gf
