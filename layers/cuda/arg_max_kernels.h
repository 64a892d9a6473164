#pragma once

#include <cuda_runtime_api.h>

#include "core/dtype.h"
#include "layers/ranking.h"

namespace gf {

// Ranks the classes of each prediction of x, which is plain, and writes `top`, see ArgMaxLayer.
void RankClasses(const Ranking& ranking, DType type, const void* x, float* top,
                 cudaStream_t stream);

}  // namespace gf
