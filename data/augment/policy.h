#pragma once

#include <vector>

#include "core/config/job.pb.h"
#include "core/random.h"
#include "data/augment/pixel_operation.h"
#include "data/image/image.h"

namespace gf {

// Draws the operations on an image of this size. The probabilities and magnitudes are those of
// torchvision's RandAugment and TrivialAugmentWide, which have 31 magnitudes.
std::vector<PixelOperation> DrawOperations(const PolicyConfig& policy, ImageSize size,
                                           Random* random);

// Draws the rectangle to erase, as torchvision's RandomErasing does: with the config's probability,
// and if one of ten tries fits into the image. Otherwise the rectangle is empty.
ImageWindow DrawErased(const ErasingConfig& erasing, ImageSize size, Random* random);

}  // namespace gf
