#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/device.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// Copies ranges of a pool to a vector, one after the other, and back, so that many small tensors
// travel as one. All lies in the memory of one device; on a GPU each call is one launch on the
// compute stream.
class RangePacker {
 public:
  virtual ~RangePacker() = default;

  virtual void Pack() = 0;
  virtual void Unpack() = 0;
  // pool = pool + residual, rounded to the pool's type, and residual = 0, in the ranges numbered
  // [first, last). Where the residual is 0, the pool keeps its bits.
  virtual void Merge(size_t first, size_t last) = 0;
};

// What a packer copies; ranges do not overlap.
struct PackedRanges {
  Tensor pool, packed;  // FP32 or BF16; FP16 where the host does not read the memory
  std::vector<ElementRange> ranges;
  Tensor residual = {};  // FP32 pool with equal offsets; without data: there is no Merge
};

// By the device's name. The device outlives the object.
using RangePackerRegistry = Registry<RangePacker, Device*, const PackedRanges&>;

}  // namespace gf
