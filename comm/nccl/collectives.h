#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdint>

#include "comm/collective.h"
#include "core/dtype.h"

namespace gf {

// Neither done nor under way.
inline bool IsError(ncclResult_t result) {
  return result != ncclSuccess && result != ncclInProgress;
}

// Of FP32, FP16 and BF16.
ncclDataType_t NcclTypeOf(DType dtype);

// A vector in the GPU's memory that all ranks have.
struct NcclVector {
  void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::kFP32;  // FP32, FP16 or BF16
};

// Enqueues the first direction of a kEncodedSum, see Collective: part p of the first half of the
// vector to rank p, to part `rank` of its second half.
ncclResult_t EnqueueAllToAll(const NcclVector& vector, int rank, int world, ncclComm_t comm,
                             cudaStream_t stream);

// Enqueues an allreduce, a reduce-scatter or an allgather on this rank, in place; parts are those
// of Collective. Returns what NCCL says of the call: ncclSuccess, ncclInProgress or an error.
ncclResult_t EnqueueNccl(Collective::Kind kind, const NcclVector& vector, int rank, int world,
                         ncclComm_t comm, cudaStream_t stream);

}  // namespace gf
