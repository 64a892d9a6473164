#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "comm/flow/compressed_flow.h"
#include "comm/flow/compressor.h"
#include "comm/flow/dense_buckets.h"
#include "comm/flow/host_mirror.h"
#include "comm/sparse/chunk_arithmetic.h"
#include "comm/sparse/selection.h"
#include "comm/sparse/sparse_buckets.h"
#include "core/host_copy.h"

namespace gf {
namespace {

// Note [Sparse communication]
// Sun et al., "Optimizing network performance for distributed DNN training on GPU clusters:
// ImageNet/AlexNet training in 1.5 minutes" (2019), algorithm 1. Every rank knows the important
// chunks S_t before backward of step t starts. As entries become ready:
//   chunk in S_t:  packed = g + residual, residual = 0; what is packed travels in buckets;
//   otherwise:     residual = momentum * (g + residual); the weights stay as they are.
// Without momentum, or without momentum_correction, the residual stays whole (factor 1). So it does
// by default where gradients are taken at weights that are ahead by the residual: what waits then
// has its effect already, and must not fade.
// The L1 norms of all chunks are then summed over the ranks. For a communicated chunk a rank takes
// the norm of the sum, divided by the world, so that the ranks together count it once. For any
// other chunk, a rank takes the norm of its own g + residual. The chunks with the largest norms
// form S_t+1. Every rank adds the same norms in the same way, so all have the same set. While S_t
// is everything (warm-up, density 1, the first step) gradients travel in place in the buckets of
// LAZY: at density 1 the two are equal bit for bit. A chunk may lie in several entries, and an
// entry in many chunks. The ready entries are always a prefix of the pool, so each element is
// handled once.
//
// Weights of a chunk that waits get no weight decay, or rare chunks would keep weights that others
// lose. When the chunk's turn comes, its update applies the decay of all steps since the last one
// (decay_steps), which is the same as long as the weights do not move.
class SparseCompressor : public Compressor {
 public:
  explicit SparseCompressor(const CompressedPool& pool)
      : pool_(pool),
        config_(pool.options.config.sparse()),
        device_(pool.options.device),
        dense_buckets_(pool),
        grid_(pool.layout.count(), config_.chunk_size()),
        set_(ChunkSet::All(grid_)),
        next_(set_),
        chunk_buckets_(pool.layout, static_cast<int64_t>(SizeOf(pool.wire)),
                       pool.options.config.threshold_first(),
                       pool.options.config.threshold_middle()),
        packed_(pool.NewTensor(pool.layout.count(), PackedType())),
        residual_(pool.NewTensor(pool.layout.count(), DType::kFP32)),
        norms_(pool.NewTensor(grid_.chunks(), DType::kFP32)),
        steps_(pool.NewTensor(grid_.chunks(), DType::kFP32)),
        next_steps_(pool.NewTensor(grid_.chunks(), DType::kFP32)),
        arithmetic_(ChunkArithmeticRegistry::Get().Create(
            "device of comm.mode: SPARSE", device_->name(), device_, grid_,
            {pool.gradients, residual_, packed_, norms_}, {Correction(), pool.world})) {
    CountSteps();
    none_waits_ = false;  // a checkpoint may bring other counts
  }

  std::vector<Bucket> Buckets() const override { return dense_buckets_.buckets(); }
  int64_t LargestMessage() const override {
    return std::max<int64_t>(pool_.options.config.threshold_middle(), 1 << 20);
  }
  DType memory_type() const override { return packed_.desc.dtype; }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"residual", residual_}};
  }
  std::vector<int64_t> important_chunks() const override { return next_.ids(); }
  WaitingGradients waiting() const override {
    return {residual_, restored_ ? std::vector<ElementRange>{{0, grid_.count()}}
                                 : set_.OtherRanges(0, grid_.count())};
  }
  bool may_wait() const override { return true; }
  DecaySteps decay_steps() const override {
    return config_.catch_up_decay() ? DecaySteps{steps_, grid_.chunk_size()} : DecaySteps();
  }
  Tensor shared_state() const override { return config_.catch_up_decay() ? next_steps_ : Tensor(); }

  bool overflowed() const override { return overflowed_; }

  void Rescale(float factor) override {
    if (factor != 1) arithmetic_->Rescale(factor);
  }

  void Restore(const std::vector<int64_t>& important_chunks) override {
    next_ = ChunkSet(grid_, important_chunks);
    merge_ = true;
    restored_ = true;
  }

  void Begin(int64_t step) override {
    restored_ = false;
    set_ = next_;
    dense_ = set_.IsAll();
    const double next = DensityAt(step + 1, pool_.options.total_steps, config_.density(),
                                  config_.warmup_fraction());
    next_count_ = ChunksAt(next, grid_.chunks());
    need_norms_ = next_count_ < grid_.chunks();
    arithmetic_->Begin(set_);
    device_->Convert(next_steps_, steps_, device_->compute_stream());
    dense_buckets_.Begin();
    chunk_buckets_.Begin();
    sent_.clear();
    arrived_ = 0;
    done_ = 0;
    overflowed_ = false;
  }

  std::vector<Parcel> Ready(int ready) override {
    if (dense_) return ReadyDense(ready);
    const int64_t end = pool_.layout.PrefixEnd(ready);
    if (end > done_) arithmetic_->KeepOrPack({done_, end});
    done_ = end;
    const std::optional<SparseBucket> bucket = chunk_buckets_.Next(set_, ready);
    if (!bucket) return {};
    sent_.push_back(bucket->pool);
    return {{packed_, bucket->packed, pool_.wire, bucket->name}};
  }

  Arrival Arrived() override {
    if (arrived_ == sent_.size()) {
      SelectNext();
      return {};
    }
    const ElementRange& range = sent_[arrived_++];
    Arrival arrival;
    if (!dense_) {
      arithmetic_->Unpack(range);
      arrival.reduced = set_.ElementRanges(range.begin, range.end);
    } else {
      if (need_norms_) arithmetic_->AddNorms(range);
      arrival.reduced = {range};
    }
    if (arrived_ < sent_.size()) return arrival;
    merge_ = !dense_;
    next_ = ChunkSet::All(grid_);
    if (!need_norms_) {
      CountSteps();
      return arrival;
    }
    arithmetic_->StoreNorms();
    arrival.next = {{norms_, {0, grid_.chunks()}, DType::kFP32, "norms of chunks"}};
    return arrival;
  }

 private:
  // The factor of residuals in every step.
  float Correction() const {
    const float momentum = pool_.options.momentum;
    const bool corrects = config_.has_momentum_correction() ? config_.momentum_correction()
                                                            : !pool_.options.steps_ahead;
    return corrects && momentum > 0 ? momentum : 1;
  }

  // In place, in the buckets of LAZY.
  std::vector<Parcel> ReadyDense(int ready) {
    return dense_buckets_.Ready(ready, [&](const Bucket& b) {
      if (merge_) arithmetic_->Merge(b.range());
      sent_.push_back(b.range());
    });
  }

  // For the next step. The host waits for the device only where a count may change.
  void CountSteps() {
    if (std::exchange(none_waits_, set_.IsAll()) && set_.IsAll()) return;
    HostCopy copy(device_, next_steps_);
    float* const steps = copy.tensor().as<float>();
    for (int64_t c = 0; c < grid_.chunks(); ++c) steps[c] = set_.Contains(c) ? 1 : steps[c] + 1;
    copy.Put();
  }

  void SelectNext() {
    const HostCopy copy(device_, norms_);
    float* const values = copy.tensor().as<float>();
    DropBadNorms(values);
    CountSteps();  // the host has waited for the device already
    next_ = SelectTop(values, grid_, next_count_);
  }

  // The wire type, but the host does not add in FP16.
  DType PackedType() const {
    return device_->shares_host_memory() ? HostMirror::TypeFor(pool_.wire) : pool_.wire;
  }

  // The norms tell all ranks of gradients that are not finite.
  void DropBadNorms(float* norms) {
    for (int64_t c = 0; c < grid_.chunks(); ++c) {
      if (std::isfinite(norms[c])) continue;
      overflowed_ = true;
      norms[c] = 0;
    }
  }

  const CompressedPool pool_;
  const SparseConfig config_;
  Device* const device_;
  DenseBuckets dense_buckets_;
  const ChunkGrid grid_;
  ChunkSet set_, next_;  // important in this step, and in the next
  SparseBuckets chunk_buckets_;
  const Tensor packed_, residual_, norms_;  // see ChunkPools
  const Tensor steps_, next_steps_;         // by chunk, see decay_steps, of this step and the next
  const std::unique_ptr<ChunkArithmetic> arithmetic_;

  bool restored_ = false;    // any chunk may have a residual
  bool none_waits_ = false;  // all of next_steps_ are 1
  bool dense_ = true, merge_ = false, need_norms_ = false, overflowed_ = false;
  int64_t next_count_ = 0;          // chunks in the next step
  int64_t done_ = 0;                // elements of the pool that were packed or kept
  std::vector<ElementRange> sent_;  // of the pool, by parcel
  size_t arrived_ = 0;              // parcels of these
};

const bool registered = RegisterCompressor<SparseCompressor>("SPARSE");

}  // namespace
}  // namespace gf
