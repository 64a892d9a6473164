#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "comm/bucketed_flow.h"
#include "comm/sparse/kernels.h"
#include "comm/sparse/selection.h"
#include "core/error.h"
#include "core/parallel.h"

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
        config_(Checked(options.config.sparse())),
        grid_(layout.count(), config_.chunk_size()),
        set_(ChunkSet::All(grid_)),
        next_(set_),
        // FP16 has no arithmetic of its own in memory.
        packed_type_(wire() == DType::kFP16 ? DType::kFP32 : wire()),
        kernels_(SparseFor(gradients.desc.dtype, packed_type_)),
        momentum_(config_.momentum_correction() ? options.momentum : 1.f) {
    residual_ = NewTensor(layout.count(), DType::kFP32);
    packed_ = NewTensor(layout.count(), packed_type_);
    norms_ = NewTensor(grid_.chunks(), DType::kFP32);
    own_norms_.resize(grid_.chunks());
    if (layout.entries().empty()) return;
    algorithms()->Measure(std::max<int64_t>(options.config.threshold_middle(), 1 << 20),
                          packed_type_, wire(), comm);
  }

  Tensor residual() const override { return residual_; }
  std::vector<int64_t> important_chunks() const override { return next_.ids(); }

  bool overflowed() const override { return overflowed_; }

  void Rescale(float factor) override {
    if (factor == 1) return;
    float* const residual = Residual(0);
    ParallelFor(layout().count(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) residual[i] *= factor;
    });
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
    std::fill(own_norms_.begin(), own_norms_.end(), 0.0);
    done_ = launched_ = 0;
    overflowed_ = false;
    first_entry_ = 0;
    BucketedFlow::OnBegin();
  }

  void OnReady() override {
    if (dense_) return LaunchReady();
    const int count = static_cast<int>(layout().entries().size());
    const bool all = ready_entries() == count;
    const int64_t end = all ? layout().count() : layout().entries()[ready_entries()].offset;
    if (end > done_) Work([&] { KeepOrPack({done_, end}); });
    done_ = end;
    const int64_t waiting = (set_.PackedOffset(done_) - set_.PackedOffset(launched_)) *
                            static_cast<int64_t>(SizeOf(wire()));
    const int64_t threshold =
        flights_.empty() ? options().config.threshold_first() : options().config.threshold_middle();
    if (waiting == 0 || (waiting < threshold && !all)) return;
    const ElementRange packed = {set_.PackedOffset(launched_), set_.PackedOffset(done_)};
    flights_.push_back(
        Launch(packed_, packed, wire(), "chunks of " + NameOf(first_entry_, ready_entries() - 1)));
    sent_.resize(flights_.size());
    sent_.back() = {launched_, done_};
    launched_ = done_;
    first_entry_ = std::min(ready_entries(), count - 1);
  }

  void BeforeLaunch(const ElementRange& range) override {
    if (merge_) Work([&] { Merge(range); });
  }

  void OnFinish(const Reduced& reduced) override {
    Flight norms;
    for (size_t i = 0; i < flights_.size(); ++i) {
      Await(flights_[i]);
      Work([&] {
        if (!dense_) {
          Unpack(sent_[i]);
        } else if (need_norms_) {
          AddNorms(flights_[i].range);
        }
      });
      if (need_norms_ && i + 1 == flights_.size()) norms = LaunchNorms();
      if (dense_) {
        reduced(flights_[i].range);
      } else {
        for (const ElementRange& r : set_.ElementRanges(sent_[i].begin, sent_[i].end)) reduced(r);
      }
    }
    merge_ = !dense_;
    next_ = ChunkSet::All(grid_);
    if (!need_norms_ || !norms.pending) return;
    Await(norms);
    Work([&] {
      DropBadNorms();
      next_ = SelectTop(norms_.as<float>(), grid_, next_count_);
    });
  }

 private:
  static SparseConfig Checked(const SparseConfig& config) {
    if (!(config.density() > 0 && config.density() <= 1)) {
      ThrowUserError("comm.sparse.density is ", config.density(), ", expected 0 < density <= 1");
    }
    if (!(config.warmup_fraction() >= 0 && config.warmup_fraction() <= 1)) {
      ThrowUserError("comm.sparse.warmup_fraction is ", config.warmup_fraction(),
                     ", expected 0 to 1");
    }
    if (config.chunk_size() < 1) {
      ThrowUserError("comm.sparse.chunk_size is ", config.chunk_size(), ", expected at least 1");
    }
    return config;
  }

  Tensor NewTensor(int64_t count, DType dtype) const {
    Tensor tensor;
    tensor.desc = {Shape{count}, dtype, Layout()};
    tensor.owner = options().device->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    return tensor;
  }

  char* Gradient(int64_t element) const {
    return gradients().as<char>() + element * SizeOf(gradients().desc.dtype);
  }
  float* Residual(int64_t element) const { return residual_.as<float>() + element; }

  // body(chunk, begin, end) for the pieces of a range of the pool that lie in one chunk each, in
  // parallel; a chunk is one thread's.
  template <typename Body>
  void ForChunks(const ElementRange& range, const Body& body) {
    if (range.begin >= range.end) return;
    const int64_t first = grid_.ChunkOf(range.begin), last = grid_.ChunkOf(range.end - 1);
    ParallelFor(last - first + 1, 1, [&](int64_t from, int64_t to) {
      for (int64_t chunk = first + from; chunk < first + to; ++chunk) {
        body(chunk, std::max(range.begin, grid_.Begin(chunk)),
             std::min(range.end, grid_.End(chunk)));
      }
    });
  }

  void Merge(const ElementRange& range) {
    ForChunks(range, [&](int64_t, int64_t begin, int64_t end) {
      kernels_.merge(Gradient(begin), Residual(begin), end - begin);
    });
  }

  void KeepOrPack(const ElementRange& range) {
    ForChunks(range, [&](int64_t chunk, int64_t begin, int64_t end) {
      if (!set_.Contains(chunk)) {
        const double norm = kernels_.keep(Gradient(begin), Residual(begin), end - begin, momentum_);
        own_norms_[chunk] += norm;
        // Else it would stay there for ever.
        if (!std::isfinite(norm)) std::fill(Residual(begin), Residual(end), 0.f);
        return;
      }
      char* const packed = packed_.as<char>() + set_.PackedOffset(begin) * SizeOf(packed_type_);
      kernels_.pack(Gradient(begin), Residual(begin), packed, end - begin);
    });
  }

  void Unpack(const ElementRange& range) {
    ForChunks(range, [&](int64_t chunk, int64_t begin, int64_t end) {
      if (!set_.Contains(chunk)) return;
      const char* const packed =
          packed_.as<char>() + set_.PackedOffset(begin) * SizeOf(packed_type_);
      own_norms_[chunk] += kernels_.unpack(packed, Gradient(begin), end - begin) / comm()->size();
    });
  }

  void AddNorms(const ElementRange& range) {
    ForChunks(range, [&](int64_t chunk, int64_t begin, int64_t end) {
      own_norms_[chunk] += kernels_.norm(Gradient(begin), end - begin) / comm()->size();
    });
  }

  // The norms tell all ranks of gradients that are not finite.
  void DropBadNorms() {
    float* const norms = norms_.as<float>();
    for (int64_t c = 0; c < grid_.chunks(); ++c) {
      if (std::isfinite(norms[c])) continue;
      overflowed_ = true;
      norms[c] = 0;
    }
  }

  Flight LaunchNorms() {
    for (int64_t c = 0; c < grid_.chunks(); ++c) {
      norms_.as<float>()[c] = static_cast<float>(own_norms_[c]);
    }
    return Launch(norms_, {0, grid_.chunks()}, DType::kFP32, "norms of chunks");
  }

  const SparseConfig config_;
  const ChunkGrid grid_;
  ChunkSet set_, next_;  // important in this step, and in the next
  const DType packed_type_;
  const SparseFunctions kernels_;
  const float momentum_;
  Tensor residual_, packed_, norms_;
  std::vector<double> own_norms_;  // per chunk

  bool dense_ = true, merge_ = false, need_norms_ = false, overflowed_ = false;
  int64_t next_count_ = 0;           // chunks in the next step
  int64_t done_ = 0, launched_ = 0;  // elements that were packed or kept; that are under way
  int first_entry_ = 0;
  std::vector<ElementRange> sent_;  // of the pool, by flight (sparse steps)
};

GF_REGISTER_GRADIENT_FLOW("SPARSE", SparseFlow);

}  // namespace
}  // namespace gf
