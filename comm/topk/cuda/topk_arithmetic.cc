#include "comm/topk/topk_arithmetic.h"

#include <algorithm>
#include <map>
#include <memory>

#include "comm/feedback/cuda/feedback_kernels.h"
#include "comm/topk/cuda/topk_kernels.h"
#include "core/cuda/cuda_device.h"

namespace gf {
namespace {

// A vector in the GPU's memory.
template <typename T>
std::shared_ptr<void> Upload(Device* device, const std::vector<T>& values) {
  const size_t bytes = std::max<size_t>(values.size(), 1) * sizeof(T);
  std::shared_ptr<void> memory = device->Allocate(bytes);
  if (!values.empty()) {
    device->CopyFromHost(values.data(), memory.get(), values.size() * sizeof(T),
                         device->compute_stream());
  }
  return memory;
}

class CudaTopkArithmetic : public TopkArithmetic {
 public:
  CudaTopkArithmetic(Device* device, const TopkPools& pools, const TopkFactors& factors)
      : device_(device), pools_(pools) {
    arrays_.gradient_type = pools.gradients.desc.dtype;
    arrays_.wire_type = pools.wire;
    arrays_.gradients = pools.gradients.data;
    arrays_.residual = pools.residual.as<float>();
    arrays_.velocity = pools.velocity.as<float>();
    arrays_.momentum = factors.momentum;
    arrays_.clip = factors.clip;
    arrays_.nesterov = factors.nesterov;
    arrays_.masking = factors.masking;
    arrays_.rank = factors.rank;
    arrays_.world = factors.world;
  }

  void SetBuckets(const std::vector<TopkBucket>& buckets) override {
    buckets_.clear();
    for (const TopkBucket& bucket : buckets) {
      LoadedBucket loaded = Load(bucket);
      const int64_t words = bucket.Words(pools_.wire);
      loaded.bucket.messages = pools_.messages.as<uint32_t>() + bucket.words_before * arrays_.world;
      loaded.bucket.words = words;
      loaded.bucket.places_at = bucket.PlacesAt();
      loaded.bucket.values_at = bucket.ValuesAt();
      buckets_.push_back(std::move(loaded));
    }
  }

  void Send(int bucket) override { SendTopk(arrays_, buckets_[bucket].bucket, stream()); }
  void Receive(int bucket) override { ReceiveTopk(arrays_, buckets_[bucket].bucket, stream()); }

  void SendAll(const std::vector<ElementRange>& ranges) override {
    if (ranges.empty()) return;
    std::unique_ptr<LoadedBucket>& loaded = all_[ranges.front().begin];
    if (loaded != nullptr) return SendAllTopk(arrays_, loaded->bucket, stream());
    TopkBucket bucket;
    for (const ElementRange& range : ranges) {
      TopkEntry entry;
      entry.begin = range.begin;
      entry.count = range.end - range.begin;
      entry.first_segment = bucket.segments;
      entry.segments = (entry.count + kTopkSegment - 1) / kTopkSegment;
      bucket.segments += entry.segments;
      bucket.entries.push_back(entry);
    }
    loaded = std::make_unique<LoadedBucket>(Load(bucket));
    SendAllTopk(arrays_, loaded->bucket, stream());
  }

  void Rescale(float factor) override {
    arrays_.clip *= factor;
    for (const Tensor* pool : {&pools_.residual, &pools_.velocity}) {
      if (pool->data == nullptr) continue;
      RescaleResidual(pool->as<float>(), pool->desc.storage_count(), factor, stream());
    }
  }

 private:
  struct LoadedBucket {
    GpuBucket bucket;
    std::shared_ptr<void> segments, entries, counts;
  };

  LoadedBucket Load(const TopkBucket& bucket) const {
    std::vector<GpuSegment> segments;
    std::vector<GpuEntry> entries;
    for (const TopkEntry& entry : bucket.entries) {
      GpuEntry on_gpu = {};
      on_gpu.first_segment = static_cast<int>(entry.first_segment);
      on_gpu.segments = static_cast<int>(entry.segments);
      on_gpu.chosen = static_cast<int>(entry.chosen);
      on_gpu.first_chosen = static_cast<int>(entry.first_chosen);
      for (int64_t s = 0; s < entry.segments; ++s) {
        GpuSegment segment = {};
        segment.begin = entry.begin + s * kTopkSegment;
        segment.end = std::min(segment.begin + kTopkSegment, entry.begin + entry.count);
        segment.entry = static_cast<int>(entries.size());
        segments.push_back(segment);
      }
      entries.push_back(on_gpu);
    }
    LoadedBucket loaded;
    loaded.segments = Upload(device_, segments);
    loaded.entries = Upload(device_, entries);
    loaded.counts = device_->Allocate(entries.size() * kTopkBins * sizeof(int));
    loaded.bucket.segments = static_cast<GpuSegment*>(loaded.segments.get());
    loaded.bucket.entries = static_cast<GpuEntry*>(loaded.entries.get());
    loaded.bucket.counts = static_cast<int*>(loaded.counts.get());
    loaded.bucket.segment_count = static_cast<int>(segments.size());
    loaded.bucket.entry_count = static_cast<int>(entries.size());
    return loaded;
  }

  cudaStream_t stream() const { return RawStream(device_->compute_stream()); }

  Device* const device_;
  const TopkPools pools_;
  TopkArrays arrays_;
  std::vector<LoadedBucket> buckets_;
  std::map<int64_t, std::unique_ptr<LoadedBucket>> all_;  // of SendAll, by first element
};

const bool registered = TopkArithmeticRegistry::Get().Add(
    "cuda",
    [](Device* device, const TopkPools& pools,
       const TopkFactors& factors) -> std::unique_ptr<TopkArithmetic> {
      return std::make_unique<CudaTopkArithmetic>(device, pools, factors);
    });

}  // namespace
}  // namespace gf
