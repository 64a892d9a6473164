#include "comm/quantized/quantized_arithmetic.h"

#include <memory>

#include "comm/feedback/cuda/feedback_kernels.h"
#include "comm/quantized/cuda/quantized_kernels.h"
#include "comm/quantized/quantized_sum.h"
#include "core/cuda/cuda_device.h"

namespace gf {
namespace {

class CudaQuantizedSum : public QuantizedSum {
 public:
  explicit CudaQuantizedSum(const GpuQuantized& bucket)
      : QuantizedSum(bucket.part_blocks, bucket.bits, bucket.rank, bucket.world), bucket_(bucket) {}

  void OnDevice(float* messages, Stream* stream) const override {
    GpuQuantized bucket = bucket_;
    bucket.messages = reinterpret_cast<uint32_t*>(messages);
    SumQuantized(bucket, RawStream(stream));
  }

 private:
  const GpuQuantized bucket_;
};

class CudaQuantizedArithmetic : public QuantizedArithmetic {
 public:
  CudaQuantizedArithmetic(Device* device, const QuantizedPools& pools,
                          const std::vector<QuantizedBucket>& buckets,
                          const QuantizedOptions& options)
      : device_(device), pools_(pools) {
    for (const QuantizedBucket& bucket : buckets) {
      const size_t bytes = bucket.blocks.size() * sizeof(QuantizedBlock);
      blocks_.push_back(device->Allocate(bytes));
      device->CopyFromHost(bucket.blocks.data(), blocks_.back().get(), bytes,
                           device->compute_stream());
      GpuQuantized q;
      q.gradients = pools.gradients.data;
      q.gradient_type = pools.gradients.desc.dtype;
      q.residual = pools.residual.as<float>();
      q.blocks = static_cast<const QuantizedBlock*>(blocks_.back().get());
      q.messages = pools.messages.as<uint32_t>() + bucket.words_before;
      q.block_count = static_cast<int64_t>(bucket.blocks.size());
      q.part_blocks = bucket.part_blocks;
      q.part_words = bucket.part_words;
      q.bits = options.bits;
      q.rotate = options.rotate;
      q.rank = options.rank;
      q.world = options.world;
      buckets_.push_back(q);
    }
  }

  void Encode(int bucket) override { EncodeQuantized(buckets_[bucket], stream()); }

  std::shared_ptr<const EncodedSum> SumOf(int bucket) override {
    return std::make_shared<CudaQuantizedSum>(buckets_[bucket]);
  }

  void Decode(int bucket) override { DecodeQuantized(buckets_[bucket], stream()); }

  void Rescale(float factor) override {
    RescaleResidual(pools_.residual.as<float>(), pools_.residual.desc.storage_count(), factor,
                    stream());
  }

 private:
  cudaStream_t stream() const { return RawStream(device_->compute_stream()); }

  Device* const device_;
  const QuantizedPools pools_;
  std::vector<std::shared_ptr<void>> blocks_;  // of the buckets
  std::vector<GpuQuantized> buckets_;
};

const bool registered = QuantizedArithmeticRegistry::Get().Add(
    "cuda",
    [](Device* device, const QuantizedPools& pools, const std::vector<QuantizedBucket>& buckets,
       const QuantizedOptions& options) -> std::unique_ptr<QuantizedArithmetic> {
      return std::make_unique<CudaQuantizedArithmetic>(device, pools, buckets, options);
    });

}  // namespace
}  // namespace gf
