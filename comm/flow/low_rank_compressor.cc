#include <algorithm>
#include <utility>

#include "comm/flow/compressed_flow.h"
#include "comm/flow/compressor.h"
#include "comm/flow/dense_buckets.h"
#include "comm/flow/whole_tensors.h"
#include "comm/low_rank/low_rank_arithmetic.h"
#include "comm/low_rank/matrices.h"
#include "core/error.h"

namespace gf {
namespace {

// Note [LOW_RANK]
// Of each weight matrix two factors of a few columns travel: see Note [Low rank]. The left factors
// start in the buckets of LAZY while backward goes on. The right ones depend on the sums of the
// left ones. All ranks must start the same collectives in the same order, but sums come at
// different moments of their backward passes. So the right factors travel at the end of the step,
// in one allreduce: they are short, and one message costs less latency than one per bucket. Tensors
// that are no large matrices (biases, the parameters of normalization layers, small weights) travel
// as a whole, in another allreduce. Factors travel in FP32.
class LowRankCompressor : public Compressor {
 public:
  explicit LowRankCompressor(const CompressedPool& pool)
      : pool_(pool),
        config_(pool.options.config.low_rank()),
        dense_buckets_(pool),
        plan_(PlanLowRank(pool.layout, EntriesOf(dense_buckets_.buckets()), config_.rank())),
        residual_(pool.NewTensor(pool.layout.count(), DType::kFP32)),
        whole_(pool, plan_.whole, residual_, "LOW_RANK") {
    if (plan_.matrices.empty()) {
      ThrowUserError(pool.options.mode_setting,
                     ": LOW_RANK: no weight of this net becomes half as long as ",
                     "factors of comm.low_rank.rank ", config_.rank(), ": set ",
                     config_.rank() > 1 ? "a lower rank, or " : "", pool.options.mode_setting,
                     " to LAZY or SPARSE");
    }
    pools_.gradients = pool.gradients;
    pools_.residual = residual_;
    pools_.left = pool.NewTensor(plan_.left_count, DType::kFP32);
    pools_.right = pool.NewTensor(plan_.right_count, DType::kFP32);
    Device* const device = pool.options.device;
    arithmetic_ = LowRankArithmeticRegistry::Get().Create(
        "device of comm.mode: LOW_RANK", device->name(), device, pools_, plan_.matrices);
  }

  void Begin(int64_t step) override {
    dense_ = IsLowRankWarmup(step, pool_.options.total_steps, config_.warmup_fraction());
    if (!dense_) {
      arithmetic_->Prepare(step);
      kept_ = true;
    }
    sent_ = arrived_ = 0;
    dense_buckets_.Begin();
    whole_.Begin();
    whole_arrived_ = plan_.whole.empty();
  }

  std::vector<Parcel> Ready(int ready) override {
    if (dense_) return ReadyDense(ready);
    std::vector<Parcel> parcels;
    for (; sent_ < plan_.buckets.size() && plan_.buckets[sent_].last_entry < ready; ++sent_) {
      const LowRankBucket& b = plan_.buckets[sent_];
      for (int m = b.begin; m < b.end; ++m) arithmetic_->Project(m);
      const LowRankMatrix &first = plan_.matrices[b.begin], &last = plan_.matrices[b.end - 1];
      parcels.push_back(
          {pools_.left, {first.left, last.left + last.rank * last.rows}, DType::kFP32, b.name});
    }
    whole_.Ready(ready, &parcels);
    return parcels;
  }

  Arrival Arrived() override {
    if (dense_) return dense_buckets_.Arrived();
    if (arrived_ < plan_.buckets.size()) return LeftArrived();
    if (!whole_arrived_) {
      whole_arrived_ = true;
      return whole_.Arrived();
    }
    Arrival arrival;
    for (size_t m = 0; m < plan_.matrices.size(); ++m) {
      arithmetic_->Expand(static_cast<int>(m));
      const PoolEntry& entry = *plan_.matrices[m].entry;
      arrival.reduced.push_back({entry.offset, entry.offset + entry.count});
    }
    return arrival;
  }

  std::vector<Bucket> Buckets() const override { return dense_buckets_.buckets(); }
  int64_t LargestMessage() const override { return dense_buckets_.LargestMessage(); }
  DType memory_type() const override { return pool_.gradients.desc.dtype; }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    arithmetic_->Settle();
    return {{"residual", residual_}};
  }
  Tensor shared_state() const override { return pools_.right; }
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
      for (size_t m = 0; kept_ && m < plan_.matrices.size(); ++m) {
        const int64_t offset = plan_.matrices[m].entry->offset;
        if (offset >= b.offset && offset < b.offset + b.count) {
          arithmetic_->Merge(static_cast<int>(m));
        }
      }
      whole_.MergeTo(b.range().end);
    });
  }

  // A bucket's left factors are sums now.
  Arrival LeftArrived() {
    const LowRankBucket& b = plan_.buckets[arrived_++];
    for (int m = b.begin; m < b.end; ++m) {
      arithmetic_->Orthonormalize(m);
      arithmetic_->Correlate(m);
    }
    Arrival arrival;
    if (arrived_ == plan_.buckets.size()) {
      arrival.next = {
          {pools_.right, {0, plan_.right_count}, DType::kFP32, "right factors of all weights"}};
    }
    return arrival;
  }

  const CompressedPool pool_;
  const LowRankConfig config_;
  DenseBuckets dense_buckets_;
  const LowRankPlan plan_;
  const Tensor residual_;
  LowRankPools pools_;
  WholeTensors whole_;
  std::unique_ptr<LowRankArithmetic> arithmetic_;

  bool dense_ = true;  // this step's
  bool kept_ = false;  // residuals may hold something
  bool whole_arrived_ = false;
  size_t sent_ = 0, arrived_ = 0;  // buckets of this step
};

const bool registered = RegisterCompressor<LowRankCompressor>("LOW_RANK");

}  // namespace
}  // namespace gf
