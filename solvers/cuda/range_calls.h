#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "core/pool_layout.h"
#include "solvers/cuda/update_kernels.h"

namespace gf {

// Note [Updates as graphs]
// What a step enqueues for a bucket it enqueues again in the next one: the rates, the loss scale
// and the list of ranges lie in the GPU's memory. So the n-th call of a step is recorded
// (Device::Record) and replayed from its third time on. A list that is another one than in the step
// before (SPARSE) goes to the same place; its kernels are started for all pieces of the pool, most
// of which find nothing to do.

// Calls of kernels over ranges of the pool, in the same order in every step.
class RangeCalls {
 public:
  using Enqueue = std::function<void(const RangeList&)>;

  // `pieces` of the pool, in its order; it outlives the object.
  RangeCalls(CudaDevice* device, const std::vector<PoolPiece>* pieces)
      : device_(device), pieces_(pieces) {}

  void BeginStep() { next_ = 0; }

  // `enqueue` puts kernels on the compute stream, the same in every step but for what lies in
  // memory. It is not called where it is replayed. `record`: whether it may be.
  void Run(const std::vector<ElementRange>& ranges, bool record, const Enqueue& enqueue);

  // Calls that are replayed.
  int recorded() const;

 private:
  struct Call {
    std::vector<ElementRange> ranges;  // that lie on the device
    RangeList list;
    size_t room = 0;  // bytes of both sides
    std::shared_ptr<void> host, gpu;
    CudaEvent copied;  // from host to gpu
    bool warm = false, plain = false;
    std::unique_ptr<Recording> recording;
  };

  // Puts the ranges in the call's place.
  void Put(Call* call, const std::vector<ElementRange>& ranges);

  CudaDevice* const device_;
  const std::vector<PoolPiece>* const pieces_;
  std::vector<std::unique_ptr<Call>> calls_;
  size_t next_ = 0;
};

}  // namespace gf
