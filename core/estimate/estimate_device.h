#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/estimate/gpu.h"
#include "core/estimate/operation.h"

namespace gf {

// Note [A step on paper]
// A net compiled for this device has the passes, layouts, gradient sums and memory plan of the same
// net on the device "cuda": the kernels of layers/estimate make the plans that those of layers/cuda
// make. Its memory is addresses that nothing may touch. To enqueue work is to write it down as an
// Operation; so one forward and backward pass and one update, run as on any device, leave behind
// the list of all that a step asks of the GPU. What is not known without a GPU is assumed: that
// cuDNN and cuBLAS take one launch per product, add the bias and the ReLU in the same, need no
// workspace, and use tensor cores for every type that these have.
//
// The device is not registered: a configuration cannot ask for it.
class EstimateDevice : public Device {
 public:
  explicit EstimateDevice(Gpu gpu);

  // Prefix of the names of its kernels and solvers.
  std::string name() const override { return "cuda_estimate"; }
  std::string Description() const override { return gpu_.title + ", on paper"; }
  bool Supports(DType compute) const override;

  // Reading or writing there ends the process.
  std::shared_ptr<void> Allocate(size_t bytes) override;
  size_t PeakBytes() const override { return bytes_; }
  void Zero(void* data, size_t bytes, Stream* stream) override;

  Stream* compute_stream() override { return compute_stream_.get(); }
  std::unique_ptr<Stream> NewStream(StreamUse use) override;

  bool shares_host_memory() const override { return false; }
  // Gives zeros.
  void CopyToHost(const void* from, void* host, size_t bytes, Stream* stream) override;
  void CopyFromHost(const void* host, void* to, size_t bytes, Stream* stream) override;
  void Convert(const Tensor& from, const Tensor& to, Stream* stream) override;

  const Gpu& gpu() const { return gpu_; }
  void Add(Operation operation) { operations_.push_back(std::move(operation)); }
  // What was enqueued since the last call.
  std::vector<Operation> Take();

 private:
  const Gpu gpu_;
  const std::unique_ptr<Stream> compute_stream_;
  size_t bytes_ = 0;  // allocated, whether or not they were freed
  std::vector<Operation> operations_;
};

}  // namespace gf
