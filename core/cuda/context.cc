#include "core/cuda/context.h"

#include <cstdlib>

#include "core/cuda/error.h"
#include "core/error.h"

namespace gf {
namespace {

// The local rank, as set by the launcher.
int LocalRank() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr) return std::atoi(value);
  }
  return 0;
}

int GpuCount() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  cudaGetLastError();
  ThrowUserError("device \"cuda\": no GPU can be used here (",
                 status == cudaSuccess ? "none is visible" : cudaGetErrorString(status),
                 "); nvidia-smi lists the GPUs. To use the processor, choose device \"cpu\" "
                 "(of a job: --set device=cpu)");
}

}  // namespace

CudaContext::CudaContext() {
  const int count = GpuCount();
  ordinal_ = LocalRank() % count;
  GF_CUDA(cudaSetDevice(ordinal_));
  GF_CUDA(cudaGetDeviceProperties(&properties_, ordinal_));
  compute_ = std::make_unique<CudaStream>(/*urgent=*/false);
  copy_ = std::make_unique<CudaStream>(/*urgent=*/false);
  memory_ = std::make_shared<GpuMemory>();
}

CudaContext& CudaContext::Get() {
  static CudaContext* const context = new CudaContext;
  thread_local bool entered = false;
  if (!entered) {
    GF_CUDA(cudaSetDevice(context->ordinal_));
    entered = true;
  }
  return *context;
}

}  // namespace gf
