#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/pool_layout.h"

namespace gf {

// Elements that share a scale.
constexpr int kQuantizedBlock = 256;

// Consecutive elements of a weight that share a scale.
struct QuantizedBlock {
  int64_t begin = 0;  // element of the pool
  int32_t count = 0;  // at most kQuantizedBlock
  // Whether the block may be rotated: it has kQuantizedBlock elements, none of them the padding of
  // a layout, which must remain 0.
  int32_t full = 0;
};

// Note [Messages of QUANTIZED]
// The blocks of a bucket are cut into `world` parts of `part_blocks` each; the last parts may have
// fewer or none, but are as long. Rank p adds up part p. A part consists of 4-byte words:
//   scales  [part_blocks]       FP32; NaN where something was not finite
//   codes   [part_blocks][256]  signed integers of 8 bits, or of 4: byte j of a block has element j
//                               in its low half and element j + 128 in its high half
// The block's elements are its codes times its scale. The memory of a bucket has 2 * world parts:
// first the parts of a vector, of which a rank sends part p to rank p, and which are the sums in
// the end; then part `rank` of all ranks' vectors, by rank.

// Blocks of consecutive entries of the pool; what travels at once.
struct QuantizedBucket {
  int last_entry = 0;  // of the layout; the bucket is complete when it is ready
  std::string name;    // "codes of fc6.weight to fc7.weight"
  std::vector<ElementRange> tensors;
  std::vector<QuantizedBlock> blocks;
  int64_t part_blocks = 0;
  int64_t words_before = 0;  // of the memory of earlier buckets
  int64_t part_words = 0;
};

// 4-byte words of a part.
int64_t QuantizedPartWords(int64_t part_blocks, int bits);

// The large weights (comm/pack/large_weights.h) of the buckets (first and last entry of each, both
// inclusive); buckets without any are left out. `bits`: 8 or 4.
std::vector<QuantizedBucket> MakeQuantizedBuckets(const PoolLayout& layout,
                                                  const std::vector<std::pair<int, int>>& buckets,
                                                  int bits, int world);

}  // namespace gf
