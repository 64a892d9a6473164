#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/dtype.h"

namespace gf {

// d[m][n] = sum over k of a(m, k) * b(k, n), all row-major. In memory a is [m][k], or [k][m] if
// transpose_a; b is [k][n], or [n][k] if transpose_b. Sums are in FP32.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  bool bias = false;  // a vector [n] is added to every row
  bool relu = false;  // then the result is clipped at 0
};

// A matrix product by cuBLASLt. Only for the thread that runs nets.
class Matmul {
 public:
  // Returns null if cuBLASLt cannot compute this product. Memory must be aligned to 64 bytes.
  // allow_tf32: FP32 factors may be rounded to TF32.
  static std::unique_ptr<Matmul> Find(const MatmulShape& shape, DType type, bool allow_tf32);
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  size_t workspace_bytes() const { return result_.workspaceSize; }
  // "cuBLAS on tensor cores"
  std::string Describe() const;
  // `bias` is null if the shape has no bias.
  void Run(const void* a, const void* b, const void* bias, void* d, void* workspace,
           cudaStream_t stream) const;

 private:
  Matmul() = default;

  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_layout_ = nullptr;
  cublasLtMatmulHeuristicResult_t result_ = {};
  bool bias_ = false;
};

}  // namespace gf
