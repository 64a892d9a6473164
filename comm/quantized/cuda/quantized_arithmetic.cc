#include "comm/quantized/quantized_arithmetic.h"

#include "comm/feedback/cuda/feedback_kernels.h"
#include "comm/quantized/cuda/quantized_kernels.h"
#include "comm/quantized/quantized_sum.h"
#include "core/cuda/cuda_device.h"

namespace gf {
namespace {

// Where the messages are in the GPU's memory.
class CudaQuantizedSum : public QuantizedSum {
 public:
  using QuantizedSum::QuantizedSum;

  void OnDevice(float* messages, Stream* stream) const override {
    const int64_t words = QuantizedPartWords(part_blocks_, bits_);
    SumQuantized({messages, part_blocks_, words, bits_, rank_, world_}, RawStream(stream));
  }
};

class CudaQuantizedArithmetic : public QuantizedArithmetic {
 public:
  CudaQuantizedArithmetic(Device* device, const QuantizedPools& pools,
                          const std::vector<QuantizedBucket>& buckets,
                          const QuantizedOptions& options)
      : device_(device), pools_(pools), buckets_(buckets), options_(options) {
    std::vector<QuantizedBlock> blocks;
    for (const QuantizedBucket& bucket : buckets) {
      first_blocks_.push_back(blocks.size());
      blocks.insert(blocks.end(), bucket.blocks.begin(), bucket.blocks.end());
    }
    if (blocks.empty()) return;
    const size_t bytes = blocks.size() * sizeof(QuantizedBlock);
    blocks_ = device->Allocate(bytes);
    device->CopyFromHost(blocks.data(), blocks_.get(), bytes, device->compute_stream());
  }

  void Encode(int bucket) override { EncodeQuantized(Arrays(bucket), Parts(bucket), stream()); }

  std::shared_ptr<const EncodedSum> SumOf(int bucket) override {
    return std::make_shared<CudaQuantizedSum>(buckets_[bucket].part_blocks, options_.bits,
                                              options_.rank, options_.world);
  }

  void Decode(int bucket) override { DecodeQuantized(Arrays(bucket), Parts(bucket), stream()); }

  void Rescale(float factor) override {
    RescaleResidual(pools_.residual.as<float>(), pools_.residual.desc.storage_count(), factor,
                    stream());
  }

 private:
  QuantizedArrays Arrays(int bucket) const {
    QuantizedArrays arrays;
    arrays.gradient_type = pools_.gradients.desc.dtype;
    arrays.gradients = pools_.gradients.data;
    arrays.residual = pools_.residual.as<float>();
    arrays.blocks = static_cast<const QuantizedBlock*>(blocks_.get()) + first_blocks_[bucket];
    arrays.block_count = static_cast<int64_t>(buckets_[bucket].blocks.size());
    arrays.rotate = options_.rotate;
    return arrays;
  }

  QuantizedParts Parts(int bucket) const {
    const QuantizedBucket& b = buckets_[bucket];
    return {pools_.messages.as<float>() + b.words_before,
            b.part_blocks,
            b.part_words,
            options_.bits,
            options_.rank,
            options_.world};
  }

  cudaStream_t stream() const { return RawStream(device_->compute_stream()); }

  Device* const device_;
  const QuantizedPools pools_;
  const std::vector<QuantizedBucket>& buckets_;
  const QuantizedOptions options_;
  std::shared_ptr<void> blocks_;      // of all buckets, in the GPU's memory
  std::vector<size_t> first_blocks_;  // of the buckets
};

const bool registered = QuantizedArithmeticRegistry::Get().Add(
    "cuda",
    [](Device* device, const QuantizedPools& pools, const std::vector<QuantizedBucket>& buckets,
       const QuantizedOptions& options) -> std::unique_ptr<QuantizedArithmetic> {
      return std::make_unique<CudaQuantizedArithmetic>(device, pools, buckets, options);
    });

}  // namespace
}  // namespace gf
