#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/shape.h"

namespace gf {

// A device's own order of a tensor's elements in memory (oneDNN blocked, NHWC filters).
class DeviceLayout {
 public:
  virtual ~DeviceLayout() = default;
  virtual bool Equals(const DeviceLayout& other) const = 0;
  // Elements of storage, padding included.
  virtual int64_t StorageCount() const = 0;
  virtual std::string Name() const = 0;
};

// How a tensor lies in memory: plain (row-major in the order of its Shape) or in a device's
// own order. A cheap value.
class Layout {
 public:
  Layout() = default;
  explicit Layout(std::shared_ptr<const DeviceLayout> device) : device_(std::move(device)) {}

  bool plain() const { return device_ == nullptr; }
  const DeviceLayout* device() const { return device_.get(); }

  // Elements of storage of a tensor of this shape.
  int64_t StorageCount(const Shape& shape) const {
    return device_ ? device_->StorageCount() : shape.count();
  }
  std::string Name() const { return device_ ? device_->Name() : "plain"; }

  bool operator==(const Layout& other) const {
    if (plain() || other.plain()) return plain() == other.plain();
    return device_ == other.device_ || device_->Equals(*other.device_);
  }
  bool operator!=(const Layout& other) const { return !(*this == other); }

 private:
  std::shared_ptr<const DeviceLayout> device_;
};

}  // namespace gf
