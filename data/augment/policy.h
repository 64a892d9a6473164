#pragma once

#include <cmath>
#include <vector>

#include "core/config/job.pb.h"
#include "core/random.h"
#include "data/augment/pixel_operation.h"
#include "data/image/image.h"

namespace gf {

// Draws the operations on an image of this size, with the probabilities and magnitudes of
// torchvision's RandAugment and TrivialAugmentWide, which have 31 magnitudes.
std::vector<PixelOperation> DrawOperations(const PolicyConfig& policy, ImageSize size,
                                           Random* random);

// Draws the size of a rectangle in an image, of an area and a shape in the config's ranges (crops,
// erasing). It may be larger than the image, or empty.
template <typename Config>
ImageSize DrawSize(const Config& config, ImageSize image, Random* random) {
  const double share =
      config.min_area() + (config.max_area() - config.min_area()) * random->Uniform();
  const double area = share * static_cast<double>(image.pixels());
  const double low = std::log(config.min_aspect()), high = std::log(config.max_aspect());
  const double aspect = std::exp(low + (high - low) * random->Uniform());
  return {static_cast<int>(std::lround(std::sqrt(area / aspect))),
          static_cast<int>(std::lround(std::sqrt(area * aspect)))};
}

// Draws the rectangle to erase, as torchvision's RandomErasing does: with the config's probability,
// and if one of ten tries fits into the image. Otherwise the rectangle is empty.
ImageWindow DrawErased(const ErasingConfig& erasing, ImageSize size, Random* random);

}  // namespace gf
