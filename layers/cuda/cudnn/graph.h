#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/dtype.h"
#include "layers/cuda/cudnn/target.h"

namespace gf {

// An executable plan of cuDNN for a graph.
struct CudnnPlan {
  CudnnDescriptor config, plan;
  int64_t workspace_bytes = 0;
  bool tensor_cores = false;  // whether it uses tensor cores
  int64_t engine = 0;         // cuDNN's number of the engine for such operations
};

// Limits on the choice of engines.
struct CudnnLimits {
  bool tensor_cores = true;    // false: exact FP32 products, without TF32
  int64_t most_workspace = 0;  // bytes
  // Maximum number of plans; one more if only that one uses tensor cores.
  int most_plans = 8;
};

// Minimum alignment in bytes of tensors and workspaces passed to cuDNN.
constexpr int64_t kCudnnTensorAlignment = 16, kCudnnWorkspaceAlignment = 256;

// A four-axis tensor; `id` identifies its memory in a call, and strides are in elements. A virtual
// tensor is passed from one operation to the next without memory.
CudnnDescriptor CudnnTensor(int64_t id, DType type, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& strides, bool is_virtual = false);

// Plans that compute the operations on the target with bit-identical results in every call, in
// cuDNN's order of expected speed; empty if there is none. The operations must outlive the plans.
// All three of cuDNN's lists of proposals are read, because mode A has none for some gradients of
// weights, and the fallback list does not use tensor cores.
std::vector<std::shared_ptr<CudnnPlan>> FindPlans(
    const std::vector<const CudnnDescriptor*>& operations, const CudnnLimits& limits,
    const CudnnTarget& target = CudnnTarget());

// Enqueues a plan; memory[i] is the memory of tensor ids[i]. Returns false if cuDNN fails.
bool ExecutePlan(const CudnnPlan& plan, const std::vector<int64_t>& ids,
                 const std::vector<void*>& memory, void* workspace);

}  // namespace gf
