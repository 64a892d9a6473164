#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/flow/compressed_flow.h"
#include "comm/flow/compressor.h"
#include "comm/flow/dense_buckets.h"
#include "comm/flow/whole_tensors.h"
#include "comm/quantized/quantized_arithmetic.h"
#include "comm/quantized/quantized_buckets.h"

namespace gf {
namespace {

// Note [QUANTIZED]
// Gradients of large weights travel with a few bits each, in the buckets of LAZY: see Note
// [Quantized]. Both directions of a bucket follow each other without the compute thread, while
// backward goes on. What is no large weight travels as a whole at the end of the step.
class QuantizedCompressor : public Compressor {
 public:
  explicit QuantizedCompressor(const CompressedPool& pool)
      : pool_(pool),
        config_(pool.options.config.quantized()),
        dense_buckets_(pool),
        buckets_(MakeQuantizedBuckets(pool.layout, EntriesOf(dense_buckets_.buckets()),
                                      config_.bits(), pool.world)),
        residual_(pool.NewTensor(pool.layout.count(), DType::kFP32)),
        whole_(pool, SmallTensors(pool.layout), residual_, "QUANTIZED") {
    pools_.gradients = pool.gradients;
    pools_.residual = residual_;
    int64_t words = 0;
    for (const QuantizedBucket& bucket : buckets_) words += 2 * pool.world * bucket.part_words;
    pools_.messages = pool.NewTensor(words, DType::kFP32);
    QuantizedOptions options;
    options.bits = config_.bits();
    options.rotate = config_.rotate();
    options.rank = pool.rank;
    options.world = pool.world;
    Device* const device = pool.options.device;
    arithmetic_ = QuantizedArithmeticRegistry::Get().Create(
        "device of comm.mode: QUANTIZED", device->name(), device, pools_, buckets_, options);
  }

  void Begin(int64_t) override {
    sent_ = arrived_ = 0;
    whole_.Begin();
  }

  std::vector<Parcel> Ready(int ready) override {
    std::vector<Parcel> parcels;
    for (; sent_ < buckets_.size() && buckets_[sent_].last_entry < ready; ++sent_) {
      const QuantizedBucket& b = buckets_[sent_];
      const int index = static_cast<int>(sent_);
      arithmetic_->Encode(index);
      parcels.push_back({pools_.messages,
                         {b.words_before, b.words_before + 2 * pool_.world * b.part_words},
                         DType::kFP32,
                         b.name,
                         Collective::kEncodedSum,
                         arithmetic_->SumOf(index)});
    }
    whole_.Ready(ready, &parcels);
    return parcels;
  }

  Arrival Arrived() override {
    if (arrived_ == buckets_.size()) return whole_.Arrived();
    arithmetic_->Decode(static_cast<int>(arrived_));
    return {buckets_[arrived_++].tensors, {}};
  }

  std::vector<Bucket> Buckets() const override { return dense_buckets_.buckets(); }
  int64_t LargestMessage() const override {
    return whole_.count() * static_cast<int64_t>(SizeOf(pool_.wire));
  }
  DType memory_type() const override { return pool_.gradients.desc.dtype; }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"residual", residual_}};
  }
  void Rescale(float factor) override {
    if (factor != 1) arithmetic_->Rescale(factor);
  }
  void Restore(const std::vector<int64_t>&) override { whole_.Restore(); }

 private:
  const CompressedPool pool_;
  const QuantizedConfig config_;
  const DenseBuckets dense_buckets_;  // the order in which gradients travel
  const std::vector<QuantizedBucket> buckets_;
  const Tensor residual_;
  WholeTensors whole_;
  QuantizedPools pools_;
  std::unique_ptr<QuantizedArithmetic> arithmetic_;
  size_t sent_ = 0, arrived_ = 0;  // buckets of this step
};

const bool registered = RegisterCompressor<QuantizedCompressor>("QUANTIZED");

}  // namespace
}  // namespace gf
