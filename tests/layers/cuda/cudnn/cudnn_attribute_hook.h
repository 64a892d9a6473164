#pragma once

#include <cudnn.h>

#include <functional>

namespace gf {

// While it lives, cudnnBackendSetAttribute sets what `change` returns in place of the values:
// these, others, or null to leave the attribute out. The program is linked with
// -Wl,--wrap=cudnnBackendSetAttribute. One at a time.
class CudnnAttributeHook {
 public:
  using Change = std::function<const void*(cudnnBackendAttributeName_t name, const void* values)>;

  explicit CudnnAttributeHook(Change change);
  ~CudnnAttributeHook();
  CudnnAttributeHook(const CudnnAttributeHook&) = delete;
  CudnnAttributeHook& operator=(const CudnnAttributeHook&) = delete;
};

}  // namespace gf
