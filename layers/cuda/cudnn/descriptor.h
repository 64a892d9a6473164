#pragma once

#include <cudnn.h>

#include <cstdint>
#include <vector>

#include "layers/cuda/libraries.h"

namespace gf {

// A descriptor of cuDNN's graph API. Create it, set its attributes, then finalize it.
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
  // Returns false if cuDNN does not support the description.
  bool TryFinalize() { return cudnnBackendFinalize(descriptor_) == CUDNN_STATUS_SUCCESS; }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace gf
