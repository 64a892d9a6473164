#pragma once

#include <memory>

#include "core/device.h"
#include "core/tensor.h"

namespace gf {

// Host access to a tensor in its own layout: the tensor itself if the host can access the device's
// memory, otherwise a copy.
class HostCopy {
 public:
  HostCopy(Device* device, const Tensor& tensor) : device_(device), tensor_(tensor), host_(tensor) {
    if (device->shares_host_memory()) return;
    const size_t bytes = tensor.desc.bytes();
    host_.owner = std::shared_ptr<void>(new char[bytes], std::default_delete<char[]>());
    host_.data = host_.owner.get();
    device->CopyToHost(tensor.data, host_.data, bytes, device->compute_stream());
  }

  const Tensor& tensor() const { return host_; }

  // Writes changes back to the device.
  void Put() {
    if (device_->shares_host_memory()) return;
    device_->CopyFromHost(host_.data, tensor_.data, tensor_.desc.bytes(),
                          device_->compute_stream());
  }

 private:
  Device* const device_;
  const Tensor tensor_;
  Tensor host_;
};

}  // namespace gf
