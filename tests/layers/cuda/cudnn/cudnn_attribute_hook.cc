#include "tests/layers/cuda/cudnn/cudnn_attribute_hook.h"

#include <utility>

namespace gf {
namespace {

CudnnAttributeHook::Change active;

}  // namespace

CudnnAttributeHook::CudnnAttributeHook(Change change) { active = std::move(change); }
CudnnAttributeHook::~CudnnAttributeHook() { active = nullptr; }

}  // namespace gf

extern "C" {

cudnnStatus_t __real_cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                              cudnnBackendAttributeName_t name,
                                              cudnnBackendAttributeType_t type, int64_t count,
                                              const void* values);

cudnnStatus_t __wrap_cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                              cudnnBackendAttributeName_t name,
                                              cudnnBackendAttributeType_t type, int64_t count,
                                              const void* values) {
  if (gf::active) values = gf::active(name, values);
  if (values == nullptr) return CUDNN_STATUS_SUCCESS;
  return __real_cudnnBackendSetAttribute(descriptor, name, type, count, values);
}

}  // extern "C"
