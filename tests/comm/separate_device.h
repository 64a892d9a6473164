#pragma once

#include <memory>
#include <string>

#include "core/device.h"

namespace gf {

// The device "separate": a processor whose memory the host cannot read, like a GPU's. Addresses
// that it hands out are of pages without access, so that whoever forgets to copy crashes; the bytes
// themselves lie elsewhere (HostAddress). Work is done when the call returns. It has the arithmetic
// of SPARSE, TOPK, LOW_RANK and QUANTIZED for FP32 and BF16, and that of PERIODIC and error
// feedback.
class SeparateDevice : public Device {
 public:
  // `address`: see Device.
  explicit SeparateDevice(std::string address = "");

  // Where the bytes at an address of the device lie.
  static void* HostAddress(const void* device_address);
  // The tensor as the host would see it.
  static Tensor HostView(const Tensor& tensor);

  std::string name() const override { return "separate"; }
  std::string Description() const override { return "memory of its own"; }
  std::string Address() const override { return address_; }
  bool Supports(DType compute) const override { return true; }

  std::shared_ptr<void> Allocate(size_t bytes) override;
  void Zero(void* data, size_t bytes, Stream* stream) override;

  Stream* compute_stream() override { return cpu_->compute_stream(); }
  std::unique_ptr<Stream> NewStream(StreamUse use) override { return cpu_->NewStream(use); }

  bool shares_host_memory() const override { return false; }
  void CopyToHost(const void* from, void* host, size_t bytes, Stream* stream) override;
  void CopyFromHost(const void* host, void* to, size_t bytes, Stream* stream) override;

  // Plain tensors of FP32, BF16 and FP16.
  void Convert(const Tensor& from, const Tensor& to, Stream* stream) override;

 protected:
  Device* cpu() const { return cpu_.get(); }

 private:
  const std::string address_;
  const std::unique_ptr<Device> cpu_;
};

}  // namespace gf
