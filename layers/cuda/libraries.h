#pragma once

#include <cublasLt.h>
#include <cudnn.h>

#include "core/dtype.h"

namespace gf {

// Throw CudaError unless the call succeeded.
void CheckCudnn(cudnnStatus_t status, const char* call, const char* file, int line);
void CheckCublas(cublasStatus_t status, const char* call, const char* file, int line);

#define GF_CUDNN(call) ::gf::CheckCudnn((call), #call, __FILE__, __LINE__)
#define GF_CUBLAS(call) ::gf::CheckCublas((call), #call, __FILE__, __LINE__)

// The handles of this process; the cuDNN handle uses the compute stream. Only for the thread that
// runs nets.
cudnnHandle_t CudnnHandle();
cublasLtHandle_t CublasLtHandle();

cudnnDataType_t ToCudnn(DType type);
cudaDataType_t ToCublas(DType type);

}  // namespace gf
