#pragma once

#include <memory>
#include <vector>

#include "comm/collective.h"
#include "comm/quantized/quantized_buckets.h"
#include "core/device.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// What QUANTIZED works on, in the memory of one device.
struct QuantizedPools {
  Tensor gradients;  // pool: FP32 or BF16; FP16 where the host does not read the memory
  Tensor residual;   // FP32 pool with equal offsets
  Tensor messages;   // of all buckets, see Note [Messages of QUANTIZED]: FP32, for its words
};

struct QuantizedOptions {
  int bits = 8;  // or 4
  bool rotate = false;
  int rank = 0, world = 1;
};

// Note [Quantized]
// With a rank's gradient g and residual h, per block, with L = 127 of 8 bits or 7 of 4 bits:
//   x = g + h                     rotated where that is asked for, and the block is full
//   a = max |x|;  code = x * (L / a) rounded to the nearest even integer;  y = code * (a / L)
//   h = x - y                     rotated back
// Rank p gets all ranks' codes of part p and adds up their y in the order of the ranks, from 0 on
// (EncodedSum). It encodes the sum X likewise, as Y, which goes to all ranks: g = Y, rotated back.
// Rank p also keeps what the sum lost: h += X - Y, rotated back. So of all ranks together, what is
// sent and what is kept add up to the gradients, but for the rounding of FP32. Each direction
// rounds once, however many ranks there are.
//
// Where x is not finite, a is NaN, and so is g on all ranks afterwards; then h stays as it was, or
// becomes 0 where it is not finite itself. Where a < kLeastKept, a = 0 and y = 0. What is kept and
// smaller than kLeastKept becomes 0. Every device makes the bits of QuantizedKernels.

// QUANTIZED's arithmetic on one device; on a GPU on the compute stream.
class QuantizedArithmetic {
 public:
  virtual ~QuantizedArithmetic() = default;

  // Encodes a bucket: its parts into the first half of its memory, but this rank's own part to its
  // place in the second half.
  virtual void Encode(int bucket) = 0;
  // What the collective does between its two directions.
  virtual std::shared_ptr<const EncodedSum> SumOf(int bucket) = 0;
  // Replaces the bucket's gradients by the sums.
  virtual void Decode(int bucket) = 0;

  // Multiplies the residuals.
  virtual void Rescale(float factor) = 0;
};

// By the device's name. The device outlives the object, and so does `buckets`.
using QuantizedArithmeticRegistry =
    Registry<QuantizedArithmetic, Device*, const QuantizedPools&,
             const std::vector<QuantizedBucket>&, const QuantizedOptions&>;

}  // namespace gf
