#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/shape.h"

namespace gf {

// A device-specific order of a tensor's elements in memory (oneDNN blocked, NHWC filters).
class DeviceLayout {
 public:
  virtual ~DeviceLayout() = default;
  virtual bool Equals(const DeviceLayout& other) const = 0;
  // Number of stored elements, including padding.
  virtual int64_t StorageCount() const = 0;
  virtual std::string Name() const = 0;
  // By axis the offset in memory of each index: an element lies at the sum of its axes' offsets.
  // There may be more axes than the shape has (groups of a convolution in front). Empty: unknown.
  virtual std::vector<std::vector<int64_t>> AxisOffsets() const { return {}; }
};

// The order of a tensor's elements in memory: plain (row-major in the order of its Shape) or
// device-specific. Cheap to copy.
class Layout {
 public:
  Layout() = default;
  explicit Layout(std::shared_ptr<const DeviceLayout> device) : device_(std::move(device)) {}

  bool plain() const { return device_ == nullptr; }
  const DeviceLayout* device() const { return device_.get(); }

  // Number of stored elements of a tensor of this shape.
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
