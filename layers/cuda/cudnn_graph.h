#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "layers/cuda/libraries.h"

namespace gf {

// A descriptor of cuDNN's graph interface: created, given attributes, then finalised.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type) {
    GF_CUDNN(cudnnBackendCreateDescriptor(type, &descriptor_));
  }
  ~CudnnDescriptor() {
    if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
  }
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = nullptr;
  }
  CudnnDescriptor(const CudnnDescriptor&) = delete;
  CudnnDescriptor& operator=(const CudnnDescriptor&) = delete;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  template <typename T>
  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           const std::vector<T>& values) {
    GF_CUDNN(cudnnBackendSetAttribute(descriptor_, name, type, static_cast<int64_t>(values.size()),
                                      values.data()));
  }
  template <typename T>
  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    GF_CUDNN(cudnnBackendSetAttribute(descriptor_, name, type, 1, &value));
  }
  void Set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
    Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.get());
  }

  void Finalize() { GF_CUDNN(cudnnBackendFinalize(descriptor_)); }
  // False where cuDNN cannot.
  bool TryFinalize() { return cudnnBackendFinalize(descriptor_) == CUDNN_STATUS_SUCCESS; }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// An operation that cuDNN is ready to compute.
struct CudnnPlan {
  CudnnDescriptor config, plan;
  int64_t workspace_bytes = 0;
  bool tensor_cores = false;  // it computes by them
};

// Which engines may compute.
struct CudnnLimits {
  bool tensor_cores = true;  // false: products in FP32 exactly, as without TF32
  int64_t most_workspace = 0;
  int most_plans = 8;
};

// A tensor of four axes with a number by which its memory is named in a call; strides in elements.
// A virtual one is only what one operation hands to the next.
CudnnDescriptor CudnnTensor(int64_t id, DType type, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& strides, bool is_virtual = false);

// Ways to compute some operations in one go whose results have the same bits in every call, those
// that cuDNN thinks fastest first. Empty if there is none. The operations outlive them.
std::vector<std::shared_ptr<CudnnPlan>> FindPlans(
    const std::vector<const CudnnDescriptor*>& operations, const CudnnLimits& limits);

// Enqueues it; memory[i] belongs to the tensor ids[i]. False where cuDNN cannot after all.
bool ExecutePlan(const CudnnPlan& plan, const std::vector<int64_t>& ids,
                 const std::vector<void*>& memory, void* workspace);

}  // namespace gf
