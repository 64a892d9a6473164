#include "comm/quantized/quantized_buckets.h"

#include <algorithm>

#include "comm/pack/large_weights.h"
#include "core/error.h"

namespace gf {
namespace {

void AppendBlocks(const PoolEntry& entry, std::vector<QuantizedBlock>* blocks) {
  const bool padded = entry.shape.count() != entry.count;
  for (int64_t at = 0; at < entry.count; at += kQuantizedBlock) {
    QuantizedBlock block;
    block.begin = entry.offset + at;
    block.count = static_cast<int32_t>(std::min<int64_t>(kQuantizedBlock, entry.count - at));
    block.full = block.count == kQuantizedBlock && !padded ? 1 : 0;
    blocks->push_back(block);
  }
}

}  // namespace

int64_t QuantizedPartWords(int64_t part_blocks, int bits) {
  return part_blocks * (1 + kQuantizedBlock * bits / 32);
}

std::vector<QuantizedBucket> MakeQuantizedBuckets(const PoolLayout& layout,
                                                  const std::vector<std::pair<int, int>>& buckets,
                                                  int bits, int world) {
  std::vector<QuantizedBucket> result;
  int64_t words = 0;
  for (const auto& [first, last] : buckets) {
    QuantizedBucket bucket;
    bucket.last_entry = last;
    for (int e = first; e <= last; ++e) {
      const PoolEntry& entry = layout.entries()[e];
      if (!IsLargeWeight(entry)) continue;
      bucket.tensors.push_back({entry.offset, entry.offset + entry.count});
      AppendBlocks(entry, &bucket.blocks);
    }
    if (bucket.blocks.empty()) continue;
    bucket.name = StrCat("codes of ", layout.NameOf(first, last));
    bucket.part_blocks = (static_cast<int64_t>(bucket.blocks.size()) + world - 1) / world;
    bucket.part_words = QuantizedPartWords(bucket.part_blocks, bits);
    bucket.words_before = words;
    words += 2 * world * bucket.part_words;
    result.push_back(std::move(bucket));
  }
  return result;
}

}  // namespace gf
