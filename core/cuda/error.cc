#include "core/cuda/error.h"

#include "core/error.h"

namespace gf {
namespace {

const char* Hint(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "out of GPU memory: lower batch_size, or run fewer ranks on this GPU";
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
      return "the GPU's driver is older than this CUDA: nvidia-smi shows what it supports";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return "the program was not built for this GPU: build with "
             "--//bazel:cuda_archs=<compute capability, e.g. 90>";
    case cudaErrorDevicesUnavailable:
      return "another process has exclusive use of the GPU: nvidia-smi shows the process and the "
             "mode";
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchTimeout:
      return "the GPU hardware has failed: see nvidia-smi -q and the kernel log";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
      return "a bug of this program in an earlier kernel: CUDA_LAUNCH_BLOCKING=1 or "
             "compute-sanitizer shows which kernel";
    default:
      return "";
  }
}

}  // namespace

void FailCall(const std::string& library, const std::string& call, const char* file, int line,
              const std::string& words, const std::string& hint) {
  throw CudaError(StrCat(library, ": ", call, " at ", file, ":", line, ": ", words,
                         hint.empty() ? "" : "; ", hint));
}

void CheckCuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  FailCall("CUDA", call, file, line,
           StrCat(cudaGetErrorName(status), " (", cudaGetErrorString(status), ")"), Hint(status));
}

}  // namespace gf
