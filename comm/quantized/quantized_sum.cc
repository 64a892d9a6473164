#include "comm/quantized/quantized_sum.h"

#include <glog/logging.h>

#include "comm/quantized/kernels.h"
#include "comm/quantized/quantized_buckets.h"

namespace gf {

const QuantizedSumFunctions& QuantizedSum::Functions(int bits) {
  return bits == 8 ? Quantized().sum8 : Quantized().sum4;
}

void QuantizedSum::OnHost(float* messages) const {
  const QuantizedSumFunctions& kernels = Functions(bits_);
  const int64_t words = QuantizedPartWords(part_blocks_, bits_);
  const int64_t code_bytes = kQuantizedBlock * bits_ / 8;
  const auto codes = [&](float* part) { return reinterpret_cast<uint8_t*>(part + part_blocks_); };
  float* const own = messages + rank_ * words;
  float* const parts = messages + world_ * words;
  for (int64_t block = 0; block < part_blocks_; ++block) {
    const int64_t at = block * code_bytes;
    own[block] = kernels.encode({parts + block, codes(parts) + at, words, world_}, codes(own) + at);
  }
}

void QuantizedSum::OnDevice(float*, Stream*) const { LOG(FATAL) << "a sum in host memory"; }

}  // namespace gf
