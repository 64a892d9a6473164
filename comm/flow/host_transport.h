#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/flow/gradient_transport.h"
#include "comm/flow/host_mirror.h"
#include "comm/flow/tuner.h"

namespace gf {

// Gradients by the ranks' communicator, which works on host memory: in place where the host reads
// the tensors itself, otherwise on a HostMirror of each. In a world of one rank nothing is copied.
class HostTransport : public GradientTransport {
 public:
  // `device` may be null: host memory. `why_not_device`: why the device does not carry its
  // gradients itself, for people; may be empty. Device and communicator outlive the object.
  HostTransport(AlgorithmChoice algorithms, Device* device, Communicator* comm,
                std::string why_not_device);

  std::string Describe() const override;
  int64_t Start(const TensorCollective& collective) override;
  void Await(int64_t number) override;
  // Await has waited for everything.
  void Settle() override {}
  std::vector<TransferSpan> TakeSpans() override;
  void Measure(int64_t largest, DType dtype, DType wire) override;
  double Seconds(int64_t bytes) const override { return algorithms_.Seconds(bytes); }

 private:
  // Under way.
  struct Flight {
    ElementRange range;
    HostMirror* mirror = nullptr;  // null where the host reads the tensor itself
    std::shared_ptr<Pending> pending;
  };

  // Null where the host reads the tensor itself.
  HostMirror* MirrorOf(const Tensor& tensor);

  AlgorithmChoice algorithms_;
  Device* const device_;
  Communicator* const comm_;
  const std::string why_not_device_;
  const bool on_host_;  // the host reads the device's memory
  std::map<const void*, std::unique_ptr<HostMirror>> mirrors_;  // by the tensor's memory
  std::deque<Flight> flights_;                                  // started, not awaited
  std::vector<TransferSpan> spans_;                             // not taken yet
  int64_t next_ = 0;
};

}  // namespace gf
