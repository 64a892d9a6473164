#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "comm/flow/bucketed_flow.h"
#include "comm/flow/host_mirror.h"
#include "comm/sparse/chunk_arithmetic.h"
#include "comm/sparse/selection.h"
#include "comm/sparse/sparse_buckets.h"
#include "core/error.h"
#include "core/host_copy.h"

namespace gf {
namespace {

// Note [Sparse communication]
// Sun et al., "Optimizing network performance for distributed DNN training on GPU clusters:
// ImageNet/AlexNet training in 1.5 minutes" (2019), algorithm 1. Every rank knows the important
// chunks S_t before backward of step t starts. As entries become ready:
//   chunk in S_t:  packed = g + residual, residual = 0; what is packed travels in buckets;
//   otherwise:     residual = momentum * (g + residual); the weights stay as they are.
// The L1 norms of all chunks are then summed over the ranks: a communicated chunk's is that of
// the sum, divided by the world, so that the ranks together count it once; any other's is that of
// the rank's own g + residual. The largest make S_t+1. Every rank adds the same norms in the same
// way, so all have the same set. While S_t is everything (warm-up, density 1, the first step)
// gradients travel in place in the buckets of LAZY: at density 1 the two are equal bit for bit. A
// chunk may lie in several entries, and an entry in many chunks; what is ready is always a prefix
// of the pool, so each element is handled once.
class SparseFlow : public BucketedFlow {
 public:
  SparseFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
             const GradientFlowOptions& options)
      : BucketedFlow(layout, gradients, comm, options),
        config_(options.config.sparse()),
        grid_(layout.count(), config_.chunk_size()),
        set_(ChunkSet::All(grid_)),
        next_(set_),
        chunk_buckets_(layout, static_cast<int64_t>(SizeOf(wire())),
                       options.config.threshold_first(), options.config.threshold_middle()),
        packed_(NewTensor(layout.count(), PackedType())),
        residual_(NewTensor(layout.count(), DType::kFP32)),
        norms_(NewTensor(grid_.chunks(), DType::kFP32)),
        arithmetic_(ChunkArithmeticRegistry::Get().Create(
            "device of comm.mode: SPARSE", options.device->name(), options.device, grid_,
            {gradients, residual_, packed_, norms_},
            {config_.momentum_correction() ? options.momentum : 1.f, comm->size()})) {}

  void Measure() override {
    if (layout().entries().empty()) return;
    transport()->Measure(std::max<int64_t>(options().config.threshold_middle(), 1 << 20),
                         packed_.desc.dtype, wire());
  }

  Tensor residual() const override { return residual_; }
  std::vector<int64_t> important_chunks() const override { return next_.ids(); }

  bool overflowed() const override { return overflowed_; }

  void Rescale(float factor) override {
    if (factor != 1) arithmetic_->Rescale(factor);
  }

  void Restore(const std::vector<int64_t>& important_chunks) override {
    next_ = ChunkSet(grid_, important_chunks);
    merge_ = true;
  }

 protected:
  void OnBegin() override {
    set_ = next_;
    dense_ = set_.IsAll();
    const double next =
        DensityAt(step() + 1, options().total_steps, config_.density(), config_.warmup_fraction());
    next_count_ = ChunksAt(next, grid_.chunks());
    need_norms_ = next_count_ < grid_.chunks();
    arithmetic_->Begin(set_);
    chunk_buckets_.Begin();
    sent_.clear();
    done_ = 0;
    overflowed_ = false;
    BucketedFlow::OnBegin();
  }

  void OnReady() override {
    if (dense_) {
      return LaunchReady(Collective::kAllReduce, [this](const ElementRange& range) {
        if (merge_) Work([&] { arithmetic_->Merge(range); });
      });
    }
    const int64_t end = layout().PrefixEnd(ready_entries());
    if (end > done_) Work([&] { arithmetic_->KeepOrPack({done_, end}); });
    done_ = end;
    const std::optional<SparseBucket> bucket = chunk_buckets_.Next(set_, ready_entries());
    if (!bucket) return;
    flights_.push_back(Launch(packed_, bucket->packed, wire(), bucket->name));
    sent_.push_back(bucket->pool);
  }

  void OnFinish(const Reduced& reduced) override {
    std::optional<Flight> norms;
    for (size_t i = 0; i < flights_.size(); ++i) {
      Await(flights_[i]);
      Work([&] {
        if (!dense_) {
          arithmetic_->Unpack(sent_[i]);
        } else if (need_norms_) {
          arithmetic_->AddNorms(flights_[i].range);
        }
      });
      if (need_norms_ && i + 1 == flights_.size()) norms = LaunchNorms();
      if (dense_) {
        reduced({flights_[i].range});
      } else {
        reduced(set_.ElementRanges(sent_[i].begin, sent_[i].end));
      }
    }
    merge_ = !dense_;
    next_ = ChunkSet::All(grid_);
    if (!norms) return;
    Await(*norms);
    Work([&] {
      const HostCopy copy(options().device, norms_);
      float* const values = copy.tensor().as<float>();
      DropBadNorms(values);
      next_ = SelectTop(values, grid_, next_count_);
    });
  }

 private:
  // The wire type, but the host does not add in FP16.
  DType PackedType() const {
    return options().device->shares_host_memory() ? HostMirror::TypeFor(wire()) : wire();
  }

  Tensor NewTensor(int64_t count, DType dtype) const {
    Tensor tensor;
    tensor.desc = {Shape{count}, dtype, Layout()};
    tensor.owner = options().device->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    return tensor;
  }

  // The norms tell all ranks of gradients that are not finite.
  void DropBadNorms(float* norms) {
    for (int64_t c = 0; c < grid_.chunks(); ++c) {
      if (std::isfinite(norms[c])) continue;
      overflowed_ = true;
      norms[c] = 0;
    }
  }

  Flight LaunchNorms() {
    arithmetic_->StoreNorms();
    return Launch(norms_, {0, grid_.chunks()}, DType::kFP32, "norms of chunks");
  }

  const SparseConfig config_;
  const ChunkGrid grid_;
  ChunkSet set_, next_;  // important in this step, and in the next
  SparseBuckets chunk_buckets_;
  const Tensor packed_, residual_, norms_;  // see ChunkPools
  const std::unique_ptr<ChunkArithmetic> arithmetic_;

  bool dense_ = true, merge_ = false, need_norms_ = false, overflowed_ = false;
  int64_t next_count_ = 0;          // chunks in the next step
  int64_t done_ = 0;                // elements of the pool that were packed or kept
  std::vector<ElementRange> sent_;  // of the pool, by flight (sparse steps)
};

GF_REGISTER(GradientFlowRegistry, "SPARSE", SparseFlow);

}  // namespace
}  // namespace gf
