#include "layers/cuda/libraries.h"

#include <glog/logging.h>

#include "core/cuda/context.h"
#include "core/cuda/error.h"

namespace gf {

void CheckCudnn(cudnnStatus_t status, const char* call, const char* file, int line) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char details[512] = "";
  cudnnGetLastErrorString(details, sizeof(details));
  const char* hint = "";
  if (status == CUDNN_STATUS_NOT_INITIALIZED || status == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED) {
    hint = "cuDNN cannot start: is libcudnn*.so.9 complete, and does the driver support its CUDA?";
  }
  FailCall("cuDNN", call, file, line, std::string(cudnnGetErrorString(status)) + " " + details,
           hint);
}

cudnnHandle_t CudnnHandle() {
  static const cudnnHandle_t handle = [] {
    cudnnHandle_t created;
    const cudaStream_t stream = CudaContext::Get().compute_stream()->get();
    GF_CUDNN(cudnnCreate(&created));
    GF_CUDNN(cudnnSetStream(created, stream));
    return created;
  }();
  return handle;
}

cudnnDataType_t ToCudnn(DType type) {
  switch (type) {
    case DType::kFP32:
      return CUDNN_DATA_FLOAT;
    case DType::kFP16:
      return CUDNN_DATA_HALF;
    case DType::kBF16:
      return CUDNN_DATA_BFLOAT16;
    default:
      LOG(FATAL) << Name(type);
      return CUDNN_DATA_FLOAT;
  }
}

}  // namespace gf
