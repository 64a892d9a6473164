#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective.h"
#include "comm/communicator.h"
#include "core/config/job.pb.h"
#include "core/device.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// A collective on a range of a tensor in the memory of the gradients' device, in place.
struct TensorCollective {
  Collective::Kind kind = Collective::kAllReduce;  // not kTransfer
  Tensor tensor;                                   // FP32, FP16 or BF16, in one piece
  ElementRange range;
  DType wire = DType::kFP32;  // of a kAllGather or a kEncodedSum: the tensor's
  std::string label;          // "fc6.weight, step 12"
  std::shared_ptr<const EncodedSum> sum = nullptr;  // of a kEncodedSum
};

// When a collective took place, by the host's clock.
struct TransferSpan {
  using TimePoint = std::chrono::steady_clock::time_point;

  TimePoint begin, end;     // it was under way
  TimePoint stall, resume;  // the step waited for it
};

// Carries gradients between the ranks: through host memory (comm/flow/host_transport.h) or from
// device to device. All ranks start the same collectives in the same order. An error in one of them
// is thrown by a later call, as a CommError that names it.
class GradientTransport {
 public:
  virtual ~GradientTransport() = default;

  // For people: "NCCL 2.28.9, ring".
  virtual std::string Describe() const = 0;

  // Starts a collective behind the work that the compute stream holds now, and returns its number.
  // Nothing may touch the range until Await.
  virtual int64_t Start(const TensorCollective& collective) = 0;

  // Work enqueued on the compute stream from now on comes after the collective. Once per number, in
  // the order of the starts.
  virtual void Await(int64_t number) = 0;

  // Blocks the host until every awaited collective is done. A checkpoint written afterwards
  // contains no part of a failed collective.
  virtual void Settle() = 0;

  // Collectives that were awaited, and that the device has passed, since the last call, in order;
  // after Settle all that were awaited.
  virtual std::vector<TransferSpan> TakeSpans() = 0;

  // For a transport that chooses algorithms by measurement: times allreduces of up to `largest`
  // bytes on the wire, of tensors of type `dtype`; collective. Other transports do nothing.
  virtual void Measure(int64_t largest, DType dtype, DType wire) {}
  // Seconds that an allreduce of `bytes` takes, after Measure.
  virtual double Seconds(int64_t bytes) const { return 0; }
};

// Transports from device to device, by the device's name. `algorithm`: whose plan allreduces
// follow; "": as is quickest. Device and communicator outlive the object; collective.
using GradientTransportRegistry =
    Registry<GradientTransport, Device*, Communicator*, const std::string& /*algorithm*/>;

// The transport that comm.device_transport and comm.algorithm ask for; collective. `device` may be
// null: host memory. `deterministic`: no choice depends on measured times. Throws UserError for a
// value that does not exist, AgreedError for an algorithm or a transport that this job cannot have.
std::unique_ptr<GradientTransport> NewGradientTransport(const CommConfig& config,
                                                        bool deterministic, Device* device,
                                                        Communicator* comm);

}  // namespace gf
