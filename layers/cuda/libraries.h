#pragma once

#include <cudnn.h>

#include "core/dtype.h"

namespace gf {

// Throws CudaError unless the call succeeded.
void CheckCudnn(cudnnStatus_t status, const char* call, const char* file, int line);

#define GF_CUDNN(call) ::gf::CheckCudnn((call), #call, __FILE__, __LINE__)

// The handle of this process, which uses the compute stream. Only for the thread that runs nets.
cudnnHandle_t CudnnHandle();

cudnnDataType_t ToCudnn(DType type);

}  // namespace gf
