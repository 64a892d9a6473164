#pragma once

#include <cuda_runtime_api.h>

#include "comm/nccl/collectives.h"
#include "comm/nccl/nccl_comm.h"
#include "comm/plan_carrier.h"

namespace gf {

// Steps of plans by NCCL's send and receive on a stream.
class NcclCarrier : public PlanCarrier {
 public:
  // `aside`: memory of the GPU for as many elements as the vector has. Everything outlives the work
  // that is enqueued.
  NcclCarrier(const NcclVector& vector, void* aside, NcclComm* comm, cudaStream_t stream)
      : vector_(vector), aside_(aside), comm_(comm), stream_(stream) {}

  // Throws CommError.
  void Exchange(const Message& out, const Message& in, bool aside) override;
  void Merge(const ElementRange& range, bool add) override;

 private:
  void* At(int64_t element) const {
    return static_cast<char*>(vector_.data) + element * SizeOf(vector_.dtype);
  }

  const NcclVector vector_;
  void* const aside_;
  NcclComm* const comm_;
  const cudaStream_t stream_;
};

}  // namespace gf
