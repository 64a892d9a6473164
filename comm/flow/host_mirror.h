#pragma once

#include "core/device.h"
#include "core/pool_layout.h"
#include "core/tensor.h"

namespace gf {

// A tensor in memory that the host does not read, on the host while it travels: for transports
// that know host memory only. FP16 becomes FP32, in which the host adds.
class HostMirror {
 public:
  // `pool` lies on `device`, in one piece; it is FP32, FP16 or BF16.
  HostMirror(Device* device, const Tensor& pool);

  // The type on the host of what is of a type on the device.
  static DType TypeFor(DType device_type) {
    return device_type == DType::kFP16 ? DType::kFP32 : device_type;
  }

  // The pool on the host, with the same offsets.
  const Tensor& host() const { return host_; }

  // Copies a range to the host, after all work that is on the compute stream by now. Waits for it.
  void Fetch(const ElementRange& range);
  // Copies it back, for work that comes later on the compute stream.
  void Return(const ElementRange& range);

 private:
  // The range of a tensor.
  static Tensor Part(const Tensor& pool, const ElementRange& range);

  Device* const device_;
  const Tensor pool_;
  Tensor host_;
  Tensor converted_;  // on the device, where the types differ
};

}  // namespace gf
