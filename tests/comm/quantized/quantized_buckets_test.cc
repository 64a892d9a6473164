#include "comm/quantized/quantized_buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace gf {
namespace {

class Padded : public DeviceLayout {
 public:
  explicit Padded(int64_t count) : count_(count) {}
  bool Equals(const DeviceLayout&) const override { return false; }
  int64_t StorageCount() const override { return count_; }
  std::string Name() const override { return "padded"; }

 private:
  const int64_t count_;
};

PoolLayout TestLayout() {
  PoolLayout layout;
  for (const Shape& shape : {Shape{70, 100}, Shape{70}, Shape{16, 16, 5, 5}, Shape{64, 64}}) {
    PoolEntry entry;
    entry.name = "p" + std::to_string(layout.entries().size());
    entry.shape = shape;
    // The third has the padding of a blocked layout.
    if (shape.rank() == 4) entry.layout = Layout(std::make_shared<Padded>(16 * 32 * 25));
    layout.Add(entry);
  }
  return layout;
}

TEST(QuantizedBucketsTest, BlocksCoverLargeWeightsInOrder) {
  const PoolLayout layout = TestLayout();
  for (const int world : {1, 2, 3, 7}) {
    for (const int bits : {4, 8}) {
      const auto buckets = MakeQuantizedBuckets(layout, {{0, 0}, {1, 1}, {2, 3}}, bits, world);
      ASSERT_EQ(buckets.size(), 2u);  // the bias is left out
      int64_t words = 0;
      for (const QuantizedBucket& bucket : buckets) {
        EXPECT_EQ(bucket.words_before, words);
        words += 2 * world * bucket.part_words;
        EXPECT_EQ(bucket.part_words, bucket.part_blocks * (1 + 8 * bits));
        const auto count = static_cast<int64_t>(bucket.blocks.size());
        EXPECT_GE(bucket.part_blocks * world, count);
        EXPECT_LT((bucket.part_blocks - 1) * world, count);
        size_t b = 0;
        for (const ElementRange& tensor : bucket.tensors) {
          for (int64_t at = tensor.begin; at < tensor.end; at += kQuantizedBlock, ++b) {
            ASSERT_EQ(bucket.blocks[b].begin, at);
            ASSERT_EQ(bucket.blocks[b].count, std::min<int64_t>(kQuantizedBlock, tensor.end - at));
          }
        }
        EXPECT_EQ(b, bucket.blocks.size());
      }
      EXPECT_EQ(buckets[0].last_entry, 0);
      EXPECT_EQ(buckets[1].last_entry, 3);
      EXPECT_EQ(buckets[1].name, "codes of p2 to p3");
    }
  }
}

TEST(QuantizedBucketsTest, OnlyWholeBlocksWithoutPaddingAreFull) {
  const PoolLayout layout = TestLayout();
  const auto buckets = MakeQuantizedBuckets(layout, {{0, 3}}, 8, 2);
  ASSERT_EQ(buckets.size(), 1u);
  const PoolEntry &padded = layout.entries()[2], &whole = layout.entries()[3];
  for (const QuantizedBlock& block : buckets[0].blocks) {
    const bool in_padded =
        block.begin >= padded.offset && block.begin < padded.offset + padded.count;
    EXPECT_EQ(block.full != 0, block.count == kQuantizedBlock && !in_padded) << block.begin;
    if (block.begin >= whole.offset) {
      EXPECT_TRUE(block.full != 0);
    }
  }
}

}  // namespace
}  // namespace gf
