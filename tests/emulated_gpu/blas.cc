// The part of cuBLASLt that products of matrices need, on the emulated GPU: matrices by columns,
// without batches, sums in FP32.

#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/emulated_gpu/numbers.h"
#include "tests/emulated_gpu/streams.h"

namespace {

using gf::emulated::Load;
using gf::emulated::Number;
using gf::emulated::Store;

struct Operation {
  cublasOperation_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};

struct Matrix {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t leading;
};

struct Preference {};

Operation* Of(cublasLtMatmulDesc_t d) { return reinterpret_cast<Operation*>(d); }
const Matrix& Of(cublasLtMatrixLayout_t d) { return *reinterpret_cast<const Matrix*>(d); }

Number TypeOf(const Matrix& m) {
  return m.type == CUDA_R_16F    ? Number::kHalf
         : m.type == CUDA_R_16BF ? Number::kBfloat16
                                 : Number::kFloat;
}

// The elements by rows and columns of op(m), in the order [row][column].
std::vector<float> Read(const Matrix& m, bool transposed, const void* data) {
  std::vector<float> values(m.rows * m.columns);
  for (uint64_t c = 0; c < m.columns; ++c) {
    for (uint64_t r = 0; r < m.rows; ++r) {
      const uint64_t at = transposed ? c * m.rows + r : r * m.columns + c;
      values[at] = Load(TypeOf(m), data, static_cast<int64_t>(c) * m.leading + r);
    }
  }
  return values;
}

bool AddsBias(cublasLtEpilogue_t e) {
  return e == CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_RELU_BIAS;
}
bool Clips(cublasLtEpilogue_t e) {
  return e == CUBLASLT_EPILOGUE_RELU || e == CUBLASLT_EPILOGUE_RELU_BIAS;
}

// Whether the shapes fit each other; *k: what is summed over.
bool Fits(const Operation& op, const Matrix& a, const Matrix& b, const Matrix& d, uint64_t* k) {
  const bool ta = op.transpose_a != CUBLAS_OP_N, tb = op.transpose_b != CUBLAS_OP_N;
  *k = ta ? a.rows : a.columns;
  return (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
         (tb ? b.columns : b.rows) == *k && a.type == b.type && a.type == d.type;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int context;
  *handle = reinterpret_cast<cublasLtHandle_t>(&context);
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusString(cublasStatus_t) { return "an error of the emulated cuBLASLt"; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* d, cublasComputeType_t,
                                        cudaDataType_t) {
  *d = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  delete Of(d);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void* value, size_t bytes) {
  const auto set = [&](auto* to) {
    if (bytes != sizeof(*to)) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (name) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(&Of(d)->transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(&Of(d)->transpose_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(&Of(d)->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(&Of(d)->bias);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* d, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  if (leading < static_cast<int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  *d = reinterpret_cast<cublasLtMatrixLayout_t>(new Matrix{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t d) {
  delete &Of(d);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* count) {
  uint64_t k = 0;
  if (wanted < 1 || !Fits(*Of(operation), Of(a), Of(b), Of(d), &k)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  results[0] = {};
  results[0].workspaceSize = 64;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t*,
                                                 cublasLtMatmulAlgoCapAttributes_t, void* value,
                                                 size_t bytes, size_t* written) {
  std::memset(value, 0, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void*,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t*, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
  const Operation op = *Of(operation);
  const Matrix ma = Of(a_layout), mb = Of(b_layout), md = Of(d_layout);
  uint64_t k = 0;
  if (!Fits(op, ma, mb, md, &k)) return CUBLAS_STATUS_INVALID_VALUE;
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  gf::emulated::Enqueue(stream, &gf::emulated::Counts::matmuls, [=] {
    std::memset(workspace, 0xee, workspace_bytes);
    const std::vector<float> left = Read(ma, op.transpose_a != CUBLAS_OP_N, a);
    const std::vector<float> right = Read(mb, op.transpose_b != CUBLAS_OP_N, b);
    std::vector<float> row(md.columns);
    for (uint64_t r = 0; r < md.rows; ++r) {
      std::fill(row.begin(), row.end(), 0);
      for (uint64_t i = 0; i < k; ++i) {
        const float factor = left[r * k + i];
        for (uint64_t c = 0; c < md.columns; ++c) row[c] += factor * right[i * md.columns + c];
      }
      const float bias = AddsBias(op.epilogue) ? Load(TypeOf(md), op.bias, r) : 0;
      for (uint64_t c = 0; c < md.columns; ++c) {
        float value = row[c] + bias;
        if (Clips(op.epilogue) && value < 0) value = 0;
        Store(TypeOf(md), d, static_cast<int64_t>(c) * md.leading + r, value);
      }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
