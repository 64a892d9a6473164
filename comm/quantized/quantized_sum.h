#pragma once

#include <cstdint>

#include "comm/collective.h"
#include "comm/quantized/kernels.h"

namespace gf {

// The sum of the parts of a bucket that have come to this rank, in host memory; see Note
// [Quantized].
class QuantizedSum : public EncodedSum {
 public:
  QuantizedSum(int64_t part_blocks, int bits, int rank, int world)
      : part_blocks_(part_blocks), bits_(bits), rank_(rank), world_(world) {}

  // `bits`: 8 or 4.
  static const QuantizedSumFunctions& Functions(int bits);

  void OnHost(float* messages) const override;
  // Only where devices are built in that do not share the host's memory.
  void OnDevice(float* messages, Stream* stream) const override;

 protected:
  const int64_t part_blocks_;
  const int bits_, rank_, world_;
};

}  // namespace gf
