#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Each row of a tensor [rows][inner] is reduced to one number, see ReductionLayer.
struct Reduction {
  DType type = DType::kFP32;
  bool fp32_results = false;  // else they have the tensor's type
  int64_t rows = 0, inner = 0;
  int64_t part = 0, parts = 0;  // numbers of a part, and parts of a row
  bool absolute = false, squared = false;
  double factor = 1;
};

// y [rows] = factor * the sum of x, |x| or x^2. `sums`: scratch memory, a number per row and part;
// not used if rows have one part.
void ReduceRows(const Reduction& call, const void* x, double* sums, void* y, cudaStream_t stream);
// dx = factor * (own + dy of the row) * (1, the sign of x, or 2 x). `dy` has the type of results
// and may be null (0); x is read for absolute values and squares. inner is below 2^31.
void ReductionGradient(const Reduction& call, const void* x, const void* dy, float own, void* dx,
                       cudaStream_t stream);

}  // namespace gf
