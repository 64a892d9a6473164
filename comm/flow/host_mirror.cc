#include "comm/flow/host_mirror.h"

#include <memory>

namespace gf {

HostMirror::HostMirror(Device* device, const Tensor& pool) : device_(device), pool_(pool) {
  host_.desc = pool.desc;
  host_.desc.dtype = TypeFor(pool.desc.dtype);
  if (host_.desc.dtype != pool.desc.dtype) {
    converted_.desc = host_.desc;
    converted_.owner = device->Allocate(converted_.desc.bytes());
    converted_.data = converted_.owner.get();
  }
  host_.owner = std::shared_ptr<void>(new char[host_.desc.bytes()], std::default_delete<char[]>());
  host_.data = host_.owner.get();
}

Tensor HostMirror::Part(const Tensor& pool, const ElementRange& range) {
  Tensor part;
  part.desc = {Shape{range.end - range.begin}, pool.desc.dtype, Layout()};
  part.data = pool.as<char>() + range.begin * SizeOf(pool.desc.dtype);
  return part;
}

void HostMirror::Fetch(const ElementRange& range) {
  Stream* const stream = device_->compute_stream();
  Tensor part = Part(pool_, range);
  if (converted_.data != nullptr) {
    const Tensor to = Part(converted_, range);
    device_->Convert(part, to, stream);
    part = to;
  }
  device_->CopyToHost(part.data, Part(host_, range).data, part.desc.bytes(), stream);
}

void HostMirror::Return(const ElementRange& range) {
  Stream* const stream = device_->compute_stream();
  const Tensor target = Part(pool_, range);
  const Tensor from = Part(host_, range);
  const Tensor to = converted_.data != nullptr ? Part(converted_, range) : target;
  device_->CopyFromHost(from.data, to.data, from.desc.bytes(), stream);
  if (to.data != target.data) device_->Convert(to, target, stream);
}

}  // namespace gf
