#include "comm/nccl/nccl_carrier.h"

#include "comm/nccl/add_kernels.h"
#include "core/cuda/error.h"

namespace gf {

void NcclCarrier::Exchange(const Message& out, const Message& in, bool aside) {
  const ncclDataType_t type = NcclTypeOf(vector_.dtype);
  const auto count = [](const Message& m) {
    return static_cast<size_t>(m.range.end - m.range.begin);
  };
  comm_->Enqueue([&](ncclComm_t comm) {
    ncclResult_t result = ncclGroupStart();
    if (IsError(result)) return result;
    if (out.peer >= 0) {
      result = ncclSend(At(out.range.begin), count(out), type, out.peer, comm, stream_);
    }
    if (in.peer >= 0 && !IsError(result)) {
      result =
          ncclRecv(aside ? aside_ : At(in.range.begin), count(in), type, in.peer, comm, stream_);
    }
    const ncclResult_t end = ncclGroupEnd();
    return IsError(result) ? result : end;
  });
}

void NcclCarrier::Merge(const ElementRange& range, bool add) {
  const int64_t count = range.end - range.begin;
  if (add) return AddElements(vector_.dtype, aside_, At(range.begin), count, stream_);
  GF_CUDA(cudaMemcpyAsync(At(range.begin), aside_, count * SizeOf(vector_.dtype),
                          cudaMemcpyDeviceToDevice, stream_));
}

}  // namespace gf
