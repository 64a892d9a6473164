#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Sets *bad = 1 if an element is infinite or NaN; otherwise leaves it unchanged.
void FindNotFinite(DType type, const void* data, int64_t count, int* bad, cudaStream_t stream);

}  // namespace gf
