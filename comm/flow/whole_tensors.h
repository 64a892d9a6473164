#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/flow/compressor.h"
#include "comm/pack/large_weights.h"
#include "comm/pack/range_packer.h"
#include "core/device.h"

namespace gf {

// The tensors that a compressor does not compress (biases, the parameters of normalization layers,
// small weights). They travel as one vector at the end of a step. They have no residuals, except
// those that another mode kept and a checkpoint brings: these are added in the first step.
class WholeTensors {
 public:
  // `tensors`: in the pool's order. `residual`: the compressor's, of all tensors.
  WholeTensors(const CompressedPool& pool, std::vector<ElementRange> tensors,
               const Tensor& residual, const std::string& mode)
      : pool_(pool),
        tensors_(std::move(tensors)),
        merged_(tensors_.size()),
        packed_(pool.NewTensor(ElementsIn(tensors_), pool.gradients.desc.dtype)) {
    Device* const device = pool.options.device;
    packer_ = RangePackerRegistry::Get().Create(
        "device of comm.mode: " + mode, device->name(), device,
        PackedRanges{pool.gradients, packed_, tensors_, residual});
  }

  const std::vector<ElementRange>& tensors() const { return tensors_; }
  // Elements of the vector.
  int64_t count() const { return packed_.desc.storage_count(); }

  // Residuals were filled.
  void Restore() { merged_ = 0; }

  void Begin() { sent_ = false; }

  // Adds residuals that were restored to the gradients in front of element `end` of the pool, which
  // are ready: for a step in which everything travels in place.
  void MergeTo(int64_t end) {
    const size_t first = merged_;
    while (merged_ < tensors_.size() && tensors_[merged_].begin < end) ++merged_;
    if (merged_ > first) packer_->Merge(first, merged_);
  }

  // Appends the parcel once all entries are ready.
  void Ready(int ready, std::vector<Parcel>* parcels) {
    const bool all = ready == static_cast<int>(pool_.layout.entries().size());
    if (!all || sent_ || tensors_.empty()) return;
    MergeTo(pool_.layout.count());
    packer_->Pack();
    parcels->push_back({packed_, {0, count()}, pool_.wire, "biases and the like"});
    sent_ = true;
  }

  Arrival Arrived() {
    packer_->Unpack();
    return {tensors_, {}};
  }

 private:
  const CompressedPool pool_;
  const std::vector<ElementRange> tensors_;
  size_t merged_;  // of the tensors: their residuals are 0
  const Tensor packed_;
  std::unique_ptr<RangePacker> packer_;
  bool sent_ = false;  // in this step
};

}  // namespace gf
