#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/config/config.h"
#include "tests/models/net_for_test.h"

namespace gf {

// A network of phase TEST with random parameters, for comparisons with other programs. All of its
// blobs can be read.
struct RandomNet {
  NetSource source;
  Shape image_shape;  // for SetInputs: without axes if the file states the size
  std::unique_ptr<Net> net;
};

// Reads a network. `images`: C, H, W where the file does not say. `fuse`: see NetOptions.
RandomNet NewRandomNet(const std::string& file, const Shape& images, int64_t batch, bool fuse);

// The shape of a blob of the compiled net. Throws UserError if no layer writes it.
Shape ShapeOfBlob(const Net& net, const std::string& blob);

}  // namespace gf
