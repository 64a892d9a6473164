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

// A collective on a range of a tensor in a device's memory, in place. What it does to the range is
// what Collective says, but sums are made in the wire type.
struct DeviceCollective {
  Collective::Kind kind = Collective::kAllReduce;  // not kTransfer
  Tensor tensor;                                   // FP32, FP16 or BF16, in one piece
  ElementRange range;
  DType wire = DType::kFP32;  // of a kAllGather: the tensor's
  std::string label;          // "fc6.weight, step 12"
  std::string algorithm;      // of a kAllReduce: whose plan to follow; "": as is quickest
};

// When a collective took place, by the host's clock.
struct ExchangeSpan {
  using TimePoint = std::chrono::steady_clock::time_point;

  TimePoint begin, end;     // it was under way
  TimePoint stall, resume;  // the compute stream waited for it
};

// Collectives from device to device, in the order of its streams: the host enqueues them and waits
// for nothing. All ranks start the same ones in the same order. What goes wrong in one is thrown by
// a later call, as a CommError that names it.
class DeviceExchange {
 public:
  virtual ~DeviceExchange() = default;

  // For people: "NCCL 2.28.9".
  virtual std::string Describe() const = 0;

  // Starts after what is on the compute stream by now; the range must be left alone until Await.
  // Returns the collective's number.
  virtual int64_t Start(const DeviceCollective& collective) = 0;

  // Work enqueued on the compute stream from now on comes after it. Once per number, in the order
  // of their starts.
  virtual void Await(int64_t number) = 0;

  // Blocks the host until everything started is done. What is written down afterwards (checkpoints)
  // has no part of a collective that failed.
  virtual void Settle() = 0;

  // Those that were awaited and that the device has passed since the last call, in order; after
  // Settle all that were awaited.
  virtual std::vector<ExchangeSpan> TakeSpans() = 0;
};

// By the device's name. Device and communicator outlive the object; collective.
using DeviceExchangeRegistry = Registry<DeviceExchange, Device*, Communicator*>;

// How gradients on a device travel.
struct ExchangeChoice {
  std::unique_ptr<DeviceExchange> exchange;  // null: by the host
  std::string why_not;                       // for people, where comm.device_transport is auto
};

// As comm.device_transport says; collective. `device` may be null: host memory. Throws UserError
// for a value that does not exist or cannot be had.
ExchangeChoice ChooseExchange(const CommConfig& config, Device* device, Communicator* comm);

}  // namespace gf
