#pragma once

#include <cstdint>
#include <vector>

#include "core/device.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// Copies ranges of a pool to a vector, one after the other, and back, so that many small tensors
// travel as one. Pool and vector have the same type and lie in the memory of one device; on a GPU
// a copy is one launch on the compute stream.
class RangePacker {
 public:
  virtual ~RangePacker() = default;

  virtual void Pack() = 0;
  virtual void Unpack() = 0;
};

// What a packer copies; ranges do not overlap.
struct PackedRanges {
  Tensor pool, packed;
  std::vector<ElementRange> ranges;
};

// By the device's name. The device outlives the object.
using RangePackerRegistry = Registry<RangePacker, Device*, const PackedRanges&>;

}  // namespace gf
