#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/flow/compressed_flow.h"
#include "comm/flow/compressor.h"
#include "comm/flow/dense_buckets.h"
#include "comm/flow/whole_tensors.h"
#include "comm/topk/topk_arithmetic.h"
#include "comm/topk/topk_buckets.h"

namespace gf {
namespace {

// Note [TOPK]
// Of each weight tensor the largest gradients travel, with their places, in the buckets of LAZY:
// see Note [Top-k]. All ranks' messages are gathered, and every rank adds them in the same order.
// Biases and the like are summed as a whole, in one allreduce at the end of the step. Which
// elements travel differs from rank to rank; how many does not, so all messages have lengths that
// every rank knows.
//
// What arrives is velocity, not gradients: the solver must not give it momentum again
// (carries_momentum). Where the density is so high that messages would be longer than the vectors
// they stand for, all gradients travel as in LAZY, and the solver has the momentum; at density 1
// TOPK equals LAZY bit for bit. In such a step after one in which something was kept (a resumed job
// of another world or density), velocities stay on the ranks, and what was kept is sent.
class TopkCompressor : public Compressor {
 public:
  explicit TopkCompressor(const CompressedPool& pool)
      : pool_(pool),
        config_(pool.options.config.topk()),
        dense_buckets_(pool),
        limit_(TopkLimit(pool.world, pool.wire)),
        residual_(pool.NewTensor(pool.layout.count(), DType::kFP32)),
        ranges_(EntriesOf(dense_buckets_.buckets())),
        whole_(pool, SmallTensors(pool.layout), residual_, "TOPK") {
    for (const PoolEntry& entry : pool.layout.entries()) {
      sparse_entries_.push_back(IsLargeWeight(entry));
    }
    const double densest = std::min(limit_, config_.warmup_fraction() > 0 ? 1 : config_.density());
    int64_t words = 0;
    for (const TopkBucket& b : MakeTopkBuckets(pool.layout, ranges_, densest, pool.wire)) {
      words += b.Words(pool.wire);
    }
    pools_.gradients = pool.gradients;
    pools_.residual = residual_;
    pools_.messages = pool.NewTensor(words * pool.world, DType::kFP32);
    pools_.wire = pool.wire;
    TopkFactors factors;
    if (config_.momentum_correction() && pool.options.momentum > 0) {
      pools_.velocity = pool.NewTensor(pool.layout.count(), DType::kFP32);
      factors.momentum = pool.options.momentum;
    }
    factors.nesterov = pool.options.nesterov;
    factors.masking = config_.momentum_masking();
    factors.clip = config_.local_clip() / std::sqrt(static_cast<float>(pool.world));
    factors.rank = pool.rank;
    factors.world = pool.world;
    Device* const device = pool.options.device;
    arithmetic_ = TopkArithmeticRegistry::Get().Create("device of comm.mode: TOPK", device->name(),
                                                       device, pools_, factors);
  }

  void Begin(int64_t step) override {
    const double density = TopkDensityAt(step, pool_.options.total_steps, config_.density(),
                                         config_.warmup_fraction());
    dense_ = density >= 1 || density > limit_;
    if (!dense_ && density != density_) {
      buckets_ = MakeTopkBuckets(pool_.layout, ranges_, density, pool_.wire);
      arithmetic_->SetBuckets(buckets_);
      density_ = density;
    }
    kept_ = kept_ || !dense_;
    sent_ = arrived_ = 0;
    dense_buckets_.Begin();
    whole_.Begin();
  }

  std::vector<bool> carries_momentum() const override {
    return kept_ && pools_.velocity.data != nullptr ? sparse_entries_ : std::vector<bool>();
  }

  std::vector<Parcel> Ready(int ready) override {
    if (dense_) return ReadyDense(ready);
    std::vector<Parcel> parcels;
    for (; sent_ < buckets_.size() && buckets_[sent_].last_entry < ready; ++sent_) {
      const TopkBucket& b = buckets_[sent_];
      arithmetic_->Send(static_cast<int>(sent_));
      const int64_t begin = b.words_before * pool_.world;
      parcels.push_back({pools_.messages,
                         {begin, begin + b.Words(pool_.wire) * pool_.world},
                         DType::kFP32,
                         b.name,
                         Collective::kAllGather});
    }
    whole_.Ready(ready, &parcels);
    return parcels;
  }

  Arrival Arrived() override {
    if (dense_) return dense_buckets_.Arrived();
    if (arrived_ == buckets_.size()) return whole_.Arrived();
    Arrival arrival;
    for (const TopkEntry& entry : buckets_[arrived_].entries) {
      arrival.reduced.push_back({entry.begin, entry.begin + entry.count});
    }
    arithmetic_->Receive(static_cast<int>(arrived_++));
    return arrival;
  }

  std::vector<Bucket> Buckets() const override { return dense_buckets_.buckets(); }
  int64_t LargestMessage() const override { return dense_buckets_.LargestMessage(); }
  DType memory_type() const override { return pool_.gradients.desc.dtype; }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    std::vector<std::pair<std::string, Tensor>> state = {{"residual", residual_}};
    if (pools_.velocity.data != nullptr) state.emplace_back("velocity", pools_.velocity);
    return state;
  }
  void Rescale(float factor) override {
    if (factor != 1) arithmetic_->Rescale(factor);
  }
  void Restore(const std::vector<int64_t>&) override {
    kept_ = true;
    whole_.Restore();
  }

 private:
  // In place, in the buckets of LAZY.
  std::vector<Parcel> ReadyDense(int ready) {
    return dense_buckets_.Ready(ready, [&](const Bucket& b) {
      if (kept_) arithmetic_->SendAll(SparseRanges(b));
      whole_.MergeTo(b.range().end);
    });
  }

  std::vector<ElementRange> SparseRanges(const Bucket& bucket) const {
    std::vector<ElementRange> ranges;
    for (int e = bucket.first_entry; e <= bucket.last_entry; ++e) {
      const PoolEntry& entry = pool_.layout.entries()[e];
      if (sparse_entries_[e]) ranges.push_back({entry.offset, entry.offset + entry.count});
    }
    return ranges;
  }

  const CompressedPool pool_;
  const TopkConfig config_;
  DenseBuckets dense_buckets_;
  const double limit_;  // of the density of a sparse step
  const Tensor residual_;
  const std::vector<std::pair<int, int>> ranges_;  // first and last entry of the buckets
  std::vector<bool> sparse_entries_;
  WholeTensors whole_;  // the other entries
  TopkPools pools_;
  std::unique_ptr<TopkArithmetic> arithmetic_;

  std::vector<TopkBucket> buckets_;  // of the density
  double density_ = 0;
  bool dense_ = true;              // this step's
  bool kept_ = false;              // residuals and velocities may hold something
  size_t sent_ = 0, arrived_ = 0;  // buckets of this step
};

const bool registered = RegisterCompressor<TopkCompressor>("TOPK");

}  // namespace
}  // namespace gf
