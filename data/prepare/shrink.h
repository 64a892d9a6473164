#pragma once

#include "data/formats/record_source.h"
#include "data/formats/record_writer.h"
#include "data/image/render.h"

namespace gf {

// An encoded image with its shorter side made `shorter` pixels through Lanczos' filter, as a JPEG
// of `quality`; one that is not larger as it is. It is decoded in any case, so that damage is
// found: throws SampleError.
EncodedImage Shrink(const Record& record, int shorter, int quality, Renderer* renderer);

}  // namespace gf
