#include "comm/quantized/quantized_arithmetic.h"

#include <cmath>
#include <cstring>

#include "comm/feedback/feedback_arithmetic.h"
#include "comm/quantized/kernels.h"
#include "comm/quantized/quantized_sum.h"
#include "core/parallel.h"

namespace gf {
namespace {

const QuantizedBlockFunctions& BlockFunctions(DType gradients, int bits) {
  const QuantizedKernels& kernels = Quantized();
  const QuantizedKernels::OfType& type = gradients == DType::kFP32 ? kernels.fp32 : kernels.bf16;
  return bits == 8 ? type.bits8 : type.bits4;
}

class CpuQuantizedArithmetic : public QuantizedArithmetic {
 public:
  CpuQuantizedArithmetic(const QuantizedPools& pools, const std::vector<QuantizedBucket>& buckets,
                         const QuantizedOptions& options)
      : pools_(pools),
        buckets_(buckets),
        options_(options),
        block_(BlockFunctions(pools.gradients.desc.dtype, options.bits)),
        sum_(QuantizedSum::Functions(options.bits)) {}

  void Encode(int index) override {
    const QuantizedBucket& bucket = buckets_[index];
    ForBlocks(bucket.part_blocks * options_.world, [&](int64_t b) {
      FetchBlock<0>(bucket, b + kBlocksAhead, /*residual=*/true);
      const int owner = static_cast<int>(b / bucket.part_blocks);
      const bool own = owner == options_.rank;
      const Message to = At(bucket, own ? options_.world + owner : owner, b % bucket.part_blocks);
      if (b < static_cast<int64_t>(bucket.blocks.size())) {
        const QuantizedBlock& block = bucket.blocks[b];
        *to.scale = block_.encode(block, options_.rotate, Gradient(block.begin),
                                  Residual(block.begin), to.codes);
      } else {
        *to.scale = 0;
        std::memset(to.codes, 0, kQuantizedBlock * options_.bits / 8);
      }
    });
  }

  std::shared_ptr<const EncodedSum> SumOf(int bucket) override {
    return std::make_shared<QuantizedSum>(buckets_[bucket].part_blocks, options_.bits,
                                          options_.rank, options_.world);
  }

  void Decode(int index) override {
    const QuantizedBucket& bucket = buckets_[index];
    ForBlocks(static_cast<int64_t>(bucket.blocks.size()), [&](int64_t b) {
      const int owner = static_cast<int>(b / bucket.part_blocks);
      FetchBlock<1>(bucket, b + kBlocksAhead, owner == options_.rank);
      DecodeBlock(bucket, bucket.blocks[b], owner, b % bucket.part_blocks);
    });
  }

  void Rescale(float factor) override {
    ScaleResidual(pools_.residual.as<float>(), pools_.residual.desc.storage_count(), factor);
  }

 private:
  // A block in a part.
  struct Message {
    float* scale;
    uint8_t* codes;
  };

  static constexpr int64_t kBlocksAtOnce = 16;  // that a thread takes at least
  static constexpr int64_t kBlocksAhead = 2;

  template <typename Body>
  static void ForBlocks(int64_t count, const Body& body) {
    ParallelFor(count, kBlocksAtOnce, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) body(b);
    });
  }

  // `part`: one of the 2 * world.
  Message At(const QuantizedBucket& bucket, int part, int64_t block) const {
    float* const words =
        pools_.messages.as<float>() + bucket.words_before + part * bucket.part_words;
    uint8_t* const codes = reinterpret_cast<uint8_t*>(words + bucket.part_blocks);
    return {words + block, codes + block * (kQuantizedBlock * options_.bits / 8)};
  }

  // Fetches a block's gradients and residual while a thread works on those before it.
  template <int kWrite>
  void FetchBlock(const QuantizedBucket& bucket, int64_t b, bool residual) const {
    if (b >= static_cast<int64_t>(bucket.blocks.size())) return;
    const int64_t begin = bucket.blocks[b].begin;
    Fetch<kWrite>(Gradient(begin), kQuantizedBlock * SizeOf(pools_.gradients.desc.dtype));
    if (residual) Fetch<1>(Residual(begin), kQuantizedBlock * sizeof(float));
  }
  template <int kWrite>
  static void Fetch(const void* data, int64_t bytes) {
    constexpr int64_t kLine = 64;
    for (int64_t at = 0; at < bytes; at += kLine) {
      __builtin_prefetch(static_cast<const char*>(data) + at, kWrite);
    }
  }

  void* Gradient(int64_t i) const {
    return pools_.gradients.as<char>() + i * SizeOf(pools_.gradients.desc.dtype);
  }
  float* Residual(int64_t i) const { return pools_.residual.as<float>() + i; }

  void DecodeBlock(const QuantizedBucket& bucket, const QuantizedBlock& block, int owner,
                   int64_t in_part) const {
    const Message sum = At(bucket, owner, in_part);
    if (owner == options_.rank && !std::isnan(*sum.scale)) {
      const Message first = At(bucket, options_.world, in_part);
      sum_.keep(block, options_.rotate,
                {first.scale, first.codes, bucket.part_words, options_.world}, *sum.scale,
                sum.codes, Residual(block.begin));
    }
    // NaN stays NaN.
    block_.decode(block, options_.rotate, *sum.scale, sum.codes, Gradient(block.begin));
  }

  const QuantizedPools pools_;
  const std::vector<QuantizedBucket>& buckets_;
  const QuantizedOptions options_;
  const QuantizedBlockFunctions& block_;
  const QuantizedSumFunctions& sum_;
};

const bool registered = QuantizedArithmeticRegistry::Get().Add(
    "cpu",
    [](Device*, const QuantizedPools& pools, const std::vector<QuantizedBucket>& buckets,
       const QuantizedOptions& options) -> std::unique_ptr<QuantizedArithmetic> {
      return std::make_unique<CpuQuantizedArithmetic>(pools, buckets, options);
    });

}  // namespace
}  // namespace gf
