#pragma once

#include "core/batch.h"
#include "core/config/job.pb.h"
#include "core/random.h"
#include "data/image/image.h"

namespace gf {

// Draws how to mix a batch of images of this size, as torchvision's MixUp and CutMix do. `random`
// is the stream of the batch.
BatchMix DrawMix(const MixConfig& config, ImageSize size, Random random);

// Mixes the batch's label values as its `mix` says.
void MixLabelValues(Batch* batch);

}  // namespace gf
