#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cudnn_sums.h"
#include "core/device.h"
#include "core/estimate/gpu.h"
#include "core/estimate/operation.h"

namespace gf {

// Note [A step on paper]
// A net compiled for this device has the same passes, layouts, gradient sums and arena as on
// the device "cuda", because the kernels of layers/estimate make the same agreements as those of
// layers/cuda. Its memory consists of addresses that must not be touched. Enqueuing work records an
// Operation. So one forward pass, one backward pass and one update, run as on any device, produce
// the list of all operations that a step needs. Facts that require a GPU are replaced by
// assumptions: cuDNN and cuBLAS use one launch per product, which includes bias and ReLU; they need
// no workspace; and they use tensor cores for every type that tensor cores support.
//
// The device is not registered, so a config cannot select it.
class EstimateDevice : public Device {
 public:
  explicit EstimateDevice(Gpu gpu);

  // Prefix of the registered names of its kernels and solvers.
  std::string name() const override { return "cuda_estimate"; }
  std::string Description() const override { return gpu_.title + ", on paper"; }
  bool Supports(DType compute) const override;
  bool SumsInConvolutions(DType compute) const override {
    return HasCudnnSums(gpu_.capability, compute);
  }

  // Reading or writing this memory crashes the process.
  std::shared_ptr<void> Allocate(size_t bytes) override;
  size_t PeakBytes() const override { return bytes_; }
  void Zero(void* data, size_t bytes, Stream* stream) override;

  Stream* compute_stream() override { return compute_stream_.get(); }
  std::unique_ptr<Stream> NewStream(StreamUse use) override;

  bool shares_host_memory() const override { return false; }
  // Returns zeros.
  void CopyToHost(const void* from, void* host, size_t bytes, Stream* stream) override;
  void CopyFromHost(const void* host, void* to, size_t bytes, Stream* stream) override;
  void Convert(const Tensor& from, const Tensor& to, Stream* stream) override;

  const Gpu& gpu() const { return gpu_; }
  void Add(Operation operation) { operations_.push_back(std::move(operation)); }
  // The operations recorded since the last call.
  std::vector<Operation> Take();

 private:
  const Gpu gpu_;
  const std::unique_ptr<Stream> compute_stream_;
  size_t bytes_ = 0;  // allocated in total, including freed memory
  std::vector<Operation> operations_;
};

}  // namespace gf
