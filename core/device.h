#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// A point in a stream's work that other streams and the host can wait for.
class Event {
 public:
  virtual ~Event() = default;
  // Blocks the host until the work before the event is done.
  virtual void Wait() = 0;
};

// An ordered queue of work on a device. On the CPU, work is complete when the call returns.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void Synchronize() = 0;
  virtual std::unique_ptr<Event> Record() = 0;
  // Work enqueued later starts after the event.
  virtual void WaitFor(Event* event) = 0;
};

// Recorded work of the compute stream; each Replay enqueues all of it with one call.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void Replay() = 0;
};

// A copy from a device to the host that is in progress.
class HostReading {
 public:
  virtual ~HostReading() = default;
  // Blocks until the bytes have arrived. The pointer stays valid for the lifetime of this object.
  virtual const void* Wait() = 0;
};

// Purpose of a stream. Communication runs before arithmetic when both wait for the device.
enum class StreamUse { kCommunication, kCopy };

// A place that holds tensors and computes. One object per process and device.
class Device {
 public:
  virtual ~Device() = default;

  // "cpu", "cuda"
  virtual std::string name() const = 0;
  // One line for readers: processor, instruction set, threads.
  virtual std::string Description() const = 0;
  // Devices with an equal model compute the same bits in products of matrices.
  virtual std::string Model() const { return Description(); }
  // Identifies the device on its host, e.g. the PCI address "0000:17:00.0"; empty if there is only
  // one.
  virtual std::string Address() const { return ""; }
  // Whether this device can run nets in this compute type.
  virtual bool Supports(DType compute) const = 0;
  // Whether convolutions in this type can sum up their results for a batch norm at little cost.
  virtual bool SumsInConvolutions(DType compute) const { return false; }

  // Allocates zeroed memory, aligned to 64 bytes (2 MiB for large blocks) and freed with its last
  // owner. Large blocks occupy memory only where they are touched. Throws std::bad_alloc.
  virtual std::shared_ptr<void> Allocate(size_t bytes) = 0;
  // Peak number of allocated bytes; 0 if the device does not count them.
  virtual size_t PeakBytes() const { return 0; }
  // Freed bytes that the device keeps for later requests. ReleaseUnused gives them back, for other
  // users of the memory in this process, such as libraries.
  virtual size_t UnusedBytes() const { return 0; }
  virtual void ReleaseUnused() {}
  virtual void Zero(void* data, size_t bytes, Stream* stream) = 0;
  // Call after a step or an evaluation batch if more will follow. The first call may take a second
  // or two to rearrange memory for a long run; later calls do nothing.
  virtual void Settle() {}

  virtual Stream* compute_stream() = 0;
  // Calls `enqueue` and records the work that it enqueues on the compute stream, without executing
  // it: the same kernels on the same memory with the same arguments. Null if this device cannot
  // record, or cannot record this work.
  virtual std::unique_ptr<Recording> Record(const std::function<void()>& enqueue) {
    return nullptr;
  }
  virtual std::unique_ptr<Stream> NewStream(StreamUse use) = 0;

  // Whether the host can access this device's memory directly.
  virtual bool shares_host_memory() const = 0;
  // Both copies run after all earlier work of the stream and are complete on return.
  virtual void CopyToHost(const void* from, void* host, size_t bytes, Stream* stream) = 0;
  virtual void CopyFromHost(const void* host, void* to, size_t bytes, Stream* stream) = 0;
  // Starts a copy of at most 4 KiB to the host, after all work enqueued on the stream so far.
  virtual std::unique_ptr<HostReading> Read(const void* from, size_t bytes, Stream* stream);

  // Converts between layouts and floating-point types. Element counts must be equal; shapes may
  // differ (a matrix treated as a filter).
  virtual void Convert(const Tensor& from, const Tensor& to, Stream* stream) = 0;
};

using DeviceRegistry = Registry<Device, int /* threads, 0 = all */>;

}  // namespace gf
