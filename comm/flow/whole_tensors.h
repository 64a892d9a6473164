#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/flow/compressor.h"
#include "comm/pack/large_weights.h"
#include "comm/pack/range_packer.h"
#include "core/device.h"

namespace gf {

// What a compressor leaves as it is (biases, the parameters of normalization layers, small
// weights): many small tensors, which travel as one vector at the end of a step.
class WholeTensors {
 public:
  WholeTensors(const CompressedPool& pool, std::vector<ElementRange> tensors,
               const std::string& mode)
      : pool_(pool),
        tensors_(std::move(tensors)),
        packed_(pool.NewTensor(ElementsIn(tensors_), pool.gradients.desc.dtype)) {
    Device* const device = pool.options.device;
    packer_ =
        RangePackerRegistry::Get().Create("device of comm.mode: " + mode, device->name(), device,
                                          PackedRanges{pool.gradients, packed_, tensors_});
  }

  const std::vector<ElementRange>& tensors() const { return tensors_; }

  void Begin() { sent_ = false; }

  // Appends the parcel once all entries are ready.
  void Ready(int ready, std::vector<Parcel>* parcels) {
    const bool all = ready == static_cast<int>(pool_.layout.entries().size());
    if (!all || sent_ || tensors_.empty()) return;
    packer_->Pack();
    parcels->push_back(
        {packed_, {0, packed_.desc.storage_count()}, pool_.wire, "biases and the like"});
    sent_ = true;
  }

  Arrival Arrived() {
    packer_->Unpack();
    return {tensors_, {}};
  }

 private:
  const CompressedPool pool_;
  const std::vector<ElementRange> tensors_;
  const Tensor packed_;
  std::unique_ptr<RangePacker> packer_;
  bool sent_ = false;  // in this step
};

}  // namespace gf
