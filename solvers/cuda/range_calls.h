#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "core/pool_layout.h"
#include "solvers/cuda/update_kernels.h"

namespace gf {

// Note [Updates as graphs]
// Every step enqueues the same work for a bucket, because the rates, the loss scale and the list of
// ranges are in the GPU's memory. So the n-th call of a step is recorded (Device::Record) and
// replayed from the third step on. A list that differs from the previous step (SPARSE) is copied to
// the same memory; its kernels are then launched for all pieces of the pool, most of which have
// nothing to do.

// Runs kernels over ranges of the pool, in the same order in every step.
class RangeCalls {
 public:
  using Enqueue = std::function<void(const RangeList&)>;

  // `pieces`: the pieces of the pool in order; must outlive the object.
  RangeCalls(CudaDevice* device, const std::vector<PoolPiece>* pieces)
      : device_(device), pieces_(pieces) {}

  void BeginStep() { next_ = 0; }

  // `enqueue` enqueues kernels on the compute stream, with the same arguments in every step. It is
  // not called if its work is replayed. `record`: whether the work may be recorded.
  void Run(const std::vector<ElementRange>& ranges, bool record, const Enqueue& enqueue);

  // Number of replayed calls.
  int recorded() const;

 private:
  struct Call {
    std::vector<ElementRange> ranges;  // the list on the device
    RangeList list;
    size_t room = 0;  // capacity of both sides in bytes
    std::shared_ptr<void> host, gpu;
    CudaEvent copied;  // from host to gpu
    bool warm = false, plain = false;
    std::unique_ptr<Recording> recording;
  };

  // Copies the ranges to the call's memory on the device.
  void Put(Call* call, const std::vector<ElementRange>& ranges);

  CudaDevice* const device_;
  const std::vector<PoolPiece>* const pieces_;
  std::vector<std::unique_ptr<Call>> calls_;
  size_t next_ = 0;
};

}  // namespace gf
