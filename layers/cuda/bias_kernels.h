#pragma once

#include <cuda_runtime_api.h>

#include "core/dtype.h"
#include "layers/cuda/columns.h"

namespace gf {

// y = y + bias[column] in place, then clipped at 0 if `relu`. `bias` has y's type and may be null.
void AddBias(const ColumnsView& view, DType type, void* y, const void* bias, bool relu,
             cudaStream_t stream);

// dbias[column] = sum of dy over the rows, in dy's type. If `y` is given, dy is first set to 0
// where y is not positive. `dbias` may be null. `memory`: for one sum.
void BiasGradient(const ColumnsView& view, DType type, void* dy, const void* y, void* dbias,
                  const ColumnSumsMemory& memory, cudaStream_t stream);

}  // namespace gf
