#include "comm/nccl/collectives.h"

#include <glog/logging.h>

#include "comm/plan.h"

namespace gf {
namespace {

// Calls each(part, first byte, elements) for the parts of a vector that are not empty, as one
// operation of NCCL.
template <typename Each>
ncclResult_t ForParts(const NcclVector& vector, int world, const Each& each) {
  ncclResult_t result = ncclGroupStart();
  if (IsError(result)) return result;
  for (int part = 0; part < world && !IsError(result); ++part) {
    const int64_t begin = PartBegin(vector.count, part, world);
    const int64_t count = PartBegin(vector.count, part + 1, world) - begin;
    char* const data = static_cast<char*>(vector.data) + begin * SizeOf(vector.dtype);
    if (count > 0) result = each(part, data, static_cast<size_t>(count));
  }
  const ncclResult_t end = ncclGroupEnd();
  return IsError(result) ? result : end;
}

}  // namespace

ncclDataType_t NcclTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFP16:
      return ncclFloat16;
    case DType::kBF16:
      return ncclBfloat16;
    default:
      CHECK(dtype == DType::kFP32) << Name(dtype);
      return ncclFloat32;
  }
}

ncclResult_t EnqueueAllToAll(const NcclVector& vector, int rank, int world, ncclComm_t comm,
                             cudaStream_t stream) {
  const ncclDataType_t type = NcclTypeOf(vector.dtype);
  const int64_t part = vector.count / (2 * world);
  const auto at = [&](int64_t p) {
    return static_cast<char*>(vector.data) + p * part * static_cast<int64_t>(SizeOf(vector.dtype));
  };
  ncclResult_t result = ncclGroupStart();
  for (int peer = 0; peer < world && !IsError(result) && part > 0; ++peer) {
    if (peer == rank) continue;
    result = ncclSend(at(peer), static_cast<size_t>(part), type, peer, comm, stream);
    if (IsError(result)) break;
    result = ncclRecv(at(world + peer), static_cast<size_t>(part), type, peer, comm, stream);
  }
  const ncclResult_t end = ncclGroupEnd();
  return IsError(result) ? result : end;
}

// NCCL's own reduce-scatter and allgather know equal parts only.
ncclResult_t EnqueueNccl(Collective::Kind kind, const NcclVector& vector, int rank, int world,
                         ncclComm_t comm, cudaStream_t stream) {
  if (vector.count == 0) return ncclSuccess;
  const ncclDataType_t type = NcclTypeOf(vector.dtype);
  const bool equal = vector.count % world == 0;
  const size_t part = static_cast<size_t>(vector.count / world);
  char* const own = static_cast<char*>(vector.data) + rank * part * SizeOf(vector.dtype);
  switch (kind) {
    case Collective::kAllReduce:
      return ncclAllReduce(vector.data, vector.data, static_cast<size_t>(vector.count), type,
                           ncclSum, comm, stream);
    case Collective::kReduceScatter:
      if (equal) return ncclReduceScatter(vector.data, own, part, type, ncclSum, comm, stream);
      return ForParts(vector, world, [&](int root, void* data, size_t count) {
        return ncclReduce(data, data, count, type, ncclSum, root, comm, stream);
      });
    case Collective::kAllGather:
      if (equal) return ncclAllGather(own, vector.data, part, type, comm, stream);
      return ForParts(vector, world, [&](int root, void* data, size_t count) {
        return ncclBroadcast(data, data, count, type, root, comm, stream);
      });
    default:
      LOG(FATAL) << "no " << NameOf(kind) << " of NCCL's";
  }
}

}  // namespace gf
