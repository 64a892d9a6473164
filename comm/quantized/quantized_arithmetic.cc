#include "comm/quantized/quantized_arithmetic.h"

#include <cmath>
#include <cstring>

#include "comm/feedback/feedback_arithmetic.h"
#include "comm/quantized/kernels.h"
#include "comm/quantized/quantized_sum.h"
#include "core/parallel.h"

namespace gf {
namespace {

class CpuQuantizedArithmetic : public QuantizedArithmetic {
 public:
  CpuQuantizedArithmetic(const QuantizedPools& pools, const std::vector<QuantizedBucket>& buckets,
                         const QuantizedOptions& options)
      : pools_(pools),
        buckets_(buckets),
        options_(options),
        pool_(pools.gradients.desc.dtype == DType::kFP32 ? kernels_.fp32 : kernels_.bf16),
        codes_(options.bits == 8 ? kernels_.bits8 : kernels_.bits4) {}

  void Encode(int index) override {
    const QuantizedBucket& bucket = buckets_[index];
    ForBlocks(bucket.part_blocks * options_.world, [&](int64_t b) {
      const int owner = static_cast<int>(b / bucket.part_blocks);
      const bool own = owner == options_.rank;
      const Message to = At(bucket, own ? options_.world + owner : owner, b % bucket.part_blocks);
      if (b < static_cast<int64_t>(bucket.blocks.size())) {
        EncodeBlock(bucket.blocks[b], to);
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

  void* Gradient(int64_t i) const {
    return pools_.gradients.as<char>() + i * SizeOf(pools_.gradients.desc.dtype);
  }
  float* Residual(int64_t i) const { return pools_.residual.as<float>() + i; }
  bool Rotates(const QuantizedBlock& block) const { return options_.rotate && block.full != 0; }

  void EncodeBlock(const QuantizedBlock& block, const Message& to) const {
    float* const h = Residual(block.begin);
    float x[kQuantizedBlock];
    pool_.merge(Gradient(block.begin), h, x, block.count);
    if (Rotates(block)) kernels_.rotate(x, block.begin);
    *to.scale = codes_.encode(x, to.codes);
    if (std::isnan(*to.scale)) {
      for (int i = 0; i < block.count; ++i) h[i] = std::isfinite(h[i]) ? h[i] : 0;
      return;
    }
    KeepRest(block, to, x, /*more=*/false);
  }

  // Keeps what the codes lack of x.
  void KeepRest(const QuantizedBlock& block, const Message& codes, float* x, bool more) const {
    float y[kQuantizedBlock];
    codes_.decode(*codes.scale, codes.codes, y);
    kernels_.subtract(y, x);
    if (Rotates(block)) kernels_.unrotate(x, block.begin);
    kernels_.keep(x, Residual(block.begin), block.count, more);
  }

  void DecodeBlock(const QuantizedBucket& bucket, const QuantizedBlock& block, int owner,
                   int64_t in_part) const {
    const Message sum = At(bucket, owner, in_part);
    float x[kQuantizedBlock];
    if (owner == options_.rank && !std::isnan(*sum.scale)) {
      std::memset(x, 0, sizeof(x));
      for (int rank = 0; rank < options_.world; ++rank) {
        const Message from = At(bucket, options_.world + rank, in_part);
        codes_.add(*from.scale, from.codes, x);
      }
      KeepRest(block, sum, x, /*more=*/true);
    }
    codes_.decode(*sum.scale, sum.codes, x);
    // NaN stays NaN.
    if (Rotates(block)) kernels_.unrotate(x, block.begin);
    pool_.store(x, Gradient(block.begin), block.count);
  }

  const QuantizedPools pools_;
  const std::vector<QuantizedBucket>& buckets_;
  const QuantizedOptions options_;
  const QuantizedKernels& kernels_ = Quantized();
  const QuantizedPoolFunctions& pool_;
  const QuantizedCodeFunctions& codes_;
};

const bool registered = QuantizedArithmeticRegistry::Get().Add(
    "cpu",
    [](Device*, const QuantizedPools& pools, const std::vector<QuantizedBucket>& buckets,
       const QuantizedOptions& options) -> std::unique_ptr<QuantizedArithmetic> {
      return std::make_unique<CpuQuantizedArithmetic>(pools, buckets, options);
    });

}  // namespace
}  // namespace gf
