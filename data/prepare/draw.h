#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gf {

// A made-up data set: one shape of ten kinds per image, of any place, size, rotation and
// color (light on dark or the reverse), among lines and noise. The mean image of every class
// is nearly the same gray, so a linear classifier of the pixels learns next to nothing, while
// a small convolutional net learns it in a minute.

// The ten class names.
const std::vector<std::string>& ShapeNames();

// Image `index`, size x size x 3, as a pure function of (seed, index, size). Returns its label.
int DrawImage(uint64_t seed, int64_t index, int size, uint8_t* pixels);

struct DrawOptions {
  std::string folder;
  // Training images; a fifth as many more are for validation.
  int64_t images = 20000;
  int size = 32;
  uint64_t seed = 1;
  bool force = false;
};

// Writes "train-NNNNNN.tar", "val-NNNNNN.tar" (PNGs) and "classes.txt". Returns where the
// former contents of the folder are now, if any. Throws UserError.
std::string DrawDataSet(const DrawOptions& options);

}  // namespace gf
