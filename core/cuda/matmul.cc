#include "core/cuda/matmul.h"

#include <glog/logging.h>

#include "core/cuda/context.h"
#include "core/cuda/error.h"

namespace gf {
namespace {

void CheckCublas(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  FailCall("cuBLAS", call, file, line, cublasLtGetStatusString(status), "");
}

#define GF_CUBLAS(call) CheckCublas((call), #call, __FILE__, __LINE__)

// The handle of this process.
cublasLtHandle_t Handle() {
  static const cublasLtHandle_t handle = [] {
    cublasLtHandle_t created;
    CudaContext::Get();
    GF_CUBLAS(cublasLtCreate(&created));
    return created;
  }();
  return handle;
}

cudaDataType_t ToCublas(DType type) {
  switch (type) {
    case DType::kFP32:
      return CUDA_R_32F;
    case DType::kFP16:
      return CUDA_R_16F;
    case DType::kBF16:
      return CUDA_R_16BF;
    default:
      LOG(FATAL) << Name(type);
      return CUDA_R_32F;
  }
}

template <typename T>
void Set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name, const T& value) {
  GF_CUBLAS(cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof(value)));
}

class Preference {
 public:
  Preference() { GF_CUBLAS(cublasLtMatmulPreferenceCreate(&preference_)); }
  ~Preference() { cublasLtMatmulPreferenceDestroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  template <typename T>
  void Set(cublasLtMatmulPreferenceAttributes_t name, const T& value) {
    GF_CUBLAS(cublasLtMatmulPreferenceSetAttribute(preference_, name, &value, sizeof(value)));
  }
  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  cublasLtMatmulPreference_t preference_ = nullptr;
};

constexpr uint32_t kAlignment = 64;  // bytes
constexpr uint64_t kWorkspace = uint64_t{32} << 20;

}  // namespace

// cuBLAS is column-major: its result d^T [n x m] is the product of b^T and a^T.
std::unique_ptr<Matmul> Matmul::Find(const MatmulShape& s, DType type, bool allow_tf32) {
  std::unique_ptr<Matmul> product(new Matmul);
  product->bias_ = s.bias;
  const bool tf32 = type == DType::kFP32 && allow_tf32;
  GF_CUBLAS(cublasLtMatmulDescCreate(
      &product->operation_, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const cublasOperation_t first = s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                          second = s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  Set(product->operation_, CUBLASLT_MATMUL_DESC_TRANSA, first);
  Set(product->operation_, CUBLASLT_MATMUL_DESC_TRANSB, second);
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  if (s.bias) epilogue = s.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  if (!s.bias && s.relu) epilogue = CUBLASLT_EPILOGUE_RELU;
  Set(product->operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (s.bias) {
    // Any address with the alignment of real addresses.
    const void* const example = reinterpret_cast<const void*>(uintptr_t{kAlignment});
    Set(product->operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, example);
  }
  const auto layout = [&](cublasLtMatrixLayout_t* created, int64_t rows, int64_t columns) {
    GF_CUBLAS(cublasLtMatrixLayoutCreate(created, ToCublas(type), rows, columns, rows));
  };
  s.transpose_b ? layout(&product->first_, s.k, s.n) : layout(&product->first_, s.n, s.k);
  s.transpose_a ? layout(&product->second_, s.m, s.k) : layout(&product->second_, s.k, s.m);
  layout(&product->result_layout_, s.n, s.m);

  Preference preference;
  preference.Set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
  for (const auto name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    preference.Set(name, kAlignment);
  }
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      Handle(), product->operation_, product->first_, product->second_, product->result_layout_,
      product->result_layout_, preference.get(), 1, &product->result_, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || count == 0) return nullptr;
  GF_CUBLAS(status);
  return product->result_.state == CUBLAS_STATUS_SUCCESS ? std::move(product) : nullptr;
}

Matmul::~Matmul() {
  if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
  for (cublasLtMatrixLayout_t layout : {first_, second_, result_layout_}) {
    if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
  }
}

std::string Matmul::Describe() const {
  uint64_t flags = 0;
  size_t written = 0;
  GF_CUBLAS(cublasLtMatmulAlgoCapGetAttribute(&result_.algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS,
                                              &flags, sizeof(flags), &written));
  return flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK ? "cuBLAS on tensor cores" : "cuBLAS";
}

void Matmul::Run(const void* a, const void* b, const void* bias, void* d, void* workspace,
                 cudaStream_t stream) const {
  if (bias_) Set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const float one = 1, zero = 0;
  GF_CUBLAS(cublasLtMatmul(Handle(), operation_, &one, b, first_, a, second_, &zero, d,
                           result_layout_, d, result_layout_, &result_.algo, workspace,
                           result_.workspaceSize, stream));
}

}  // namespace gf
