#pragma once

#include <vector>

#include "core/batch.h"
#include "models/net.h"

namespace gf {

// Which views of an image an evaluation averages over.
struct OutputAverage {
  bool flips = false;  // DataConfig.test_flips: each view and its mirror image
  // DataConfig.test_shifts, in pixels, less than the height and width of the images: 1/2 of the
  // outputs for the image, and 1/4 each for the image moved up and to the left, and down and to the
  // right; 0: only the image.
  int shift = 0;
};

// The outputs of a TEST net for a batch of whole images (no cuts): N x classes, averaged over the
// views. Runs the net once for each view.
std::vector<float> AveragedOutputs(const Batch& batch, const OutputAverage& average, Net* net);

}  // namespace gf
