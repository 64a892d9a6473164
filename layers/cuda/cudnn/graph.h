#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/dtype.h"
#include "layers/cuda/cudnn/target.h"

namespace gf {

// An operation that cuDNN is ready to compute.
struct CudnnPlan {
  CudnnDescriptor config, plan;
  int64_t workspace_bytes = 0;
  bool tensor_cores = false;  // it computes by them
};

// Which engines may compute.
struct CudnnLimits {
  bool tensor_cores = true;    // false: products in FP32 exactly, as without TF32
  int64_t most_workspace = 0;  // bytes
  // How many plans are listed; one more where only that one computes on tensor cores.
  int most_plans = 8;
};

// Bytes to which every tensor and every workspace that cuDNN is given is aligned at least.
constexpr int64_t kCudnnTensorAlignment = 16, kCudnnWorkspaceAlignment = 256;

// A tensor of four axes with a number by which its memory is named in a call; strides in elements.
// A virtual one is only what one operation hands to the next.
CudnnDescriptor CudnnTensor(int64_t id, DType type, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& strides, bool is_virtual = false);

// Ways to compute some operations in one go on the target whose results have the same bits in every
// call, those that cuDNN thinks fastest first. Empty if there is none. The operations outlive them.
// Of cuDNN's lists of proposals all three are read: mode A has none for some weights' gradients,
// and the fallback's do not use tensor cores.
std::vector<std::shared_ptr<CudnnPlan>> FindPlans(
    const std::vector<const CudnnDescriptor*>& operations, const CudnnLimits& limits,
    const CudnnTarget& target = CudnnTarget());

// Enqueues it; memory[i] belongs to the tensor ids[i]. False where cuDNN cannot after all.
bool ExecutePlan(const CudnnPlan& plan, const std::vector<int64_t>& ids,
                 const std::vector<void*>& memory, void* workspace);

}  // namespace gf
