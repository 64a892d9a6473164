#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/cuda/context.h"
#include "core/device.h"

namespace gf {

// The GPU of this process (CudaContext). Objects of this class share the GPU, its compute stream
// and its memory.
class CudaDevice : public Device {
 public:
  // Throws UserError if there is no GPU, or the program contains no code for it.
  CudaDevice();

  std::string name() const override { return "cuda"; }
  std::string Description() const override;
  std::string Model() const override;
  std::string Address() const override;
  bool Supports(DType compute) const override;
  bool SumsInConvolutions(DType compute) const override;

  std::shared_ptr<void> Allocate(size_t bytes) override;
  size_t PeakBytes() const override { return context_.memory()->peak(); }
  size_t UnusedBytes() const override { return context_.memory()->unused_bytes(); }
  void ReleaseUnused() override { context_.memory()->Trim(); }
  void Zero(void* data, size_t bytes, Stream* stream) override;

  Stream* compute_stream() override { return context_.compute_stream(); }
  std::unique_ptr<Recording> Record(const std::function<void()>& enqueue) override;
  std::unique_ptr<Stream> NewStream(StreamUse use) override;

  bool shares_host_memory() const override { return false; }
  void CopyToHost(const void* from, void* host, size_t bytes, Stream* stream) override;
  void CopyFromHost(const void* host, void* to, size_t bytes, Stream* stream) override;
  std::unique_ptr<HostReading> Read(const void* from, size_t bytes, Stream* stream) override;

  void Convert(const Tensor& from, const Tensor& to, Stream* stream) override;

  CudaContext& context() const { return context_; }

 private:
  CudaContext& context_;
};

}  // namespace gf
