#pragma once

#include <cuda_runtime_api.h>

#include "core/dtype.h"
#include "layers/cuda/columns.h"

namespace gf {

// y = y + bias[column], in place, then clipped at 0 if `relu`. `bias` may be null; in y's type.
void AddBias(const ColumnsView& view, DType type, void* y, const void* bias, bool relu,
             cudaStream_t stream);

// dbias[column] = the sum of dy over the rows, in dy's type. With `y`, where y is not positive dy
// counts as 0 and becomes it. `dbias` may be null. `memory`: of one sum.
void BiasGradient(const ColumnsView& view, DType type, void* dy, const void* y, void* dbias,
                  const ColumnSumsMemory& memory, cudaStream_t stream);

}  // namespace gf
