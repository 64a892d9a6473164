#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// A point in a stream's work that others can wait for.
class Event {
 public:
  virtual ~Event() = default;
  // Blocks the host until the work before the event is done.
  virtual void Wait() = 0;
};

// An ordered queue of work on a device. On the CPU work is done when the call returns.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void Synchronize() = 0;
  virtual std::unique_ptr<Event> Record() = 0;
  // Work enqueued later starts after the event.
  virtual void WaitFor(Event* event) = 0;
};

// Work of the compute stream that can be enqueued again and again, with one call each time.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void Replay() = 0;
};

// Bytes of a device on their way to the host.
class HostReading {
 public:
  virtual ~HostReading() = default;
  // Blocks until they are there. They are valid as long as the object.
  virtual const void* Wait() = 0;
};

// What a stream is for: communication goes before arithmetic where both wait for the device.
enum class StreamUse { kCommunication, kCopy };

// Where tensors live and arithmetic is done. One object per process and device.
class Device {
 public:
  virtual ~Device() = default;

  // "cpu", "cuda"
  virtual std::string name() const = 0;
  // One line for people: processor, instruction set, threads.
  virtual std::string Description() const = 0;
  // What tells it from the other devices of its host: "0000:17:00.0". Empty: there is but one.
  virtual std::string Address() const { return ""; }
  // Whether nets can be computed in this type here.
  virtual bool Supports(DType compute) const = 0;

  // Zeros, aligned to 64 bytes (2 MiB for large blocks); freed with the last owner. Large
  // blocks take memory only where they are touched. Throws std::bad_alloc.
  virtual std::shared_ptr<void> Allocate(size_t bytes) = 0;
  // The most bytes that were allocated at a time; 0: the process's memory, nobody counts.
  virtual size_t PeakBytes() const { return 0; }
  // Bytes that were freed and are kept for later requests, and what gives them back: others of this
  // process, libraries for one, may need them.
  virtual size_t UnusedBytes() const { return 0; }
  virtual void ReleaseUnused() {}
  virtual void Zero(void* data, size_t bytes, Stream* stream) = 0;
  // To be called after a step or a batch of an evaluation if others follow: at the first call the
  // device may take a second or two to arrange its memory for many more, later ones do nothing.
  virtual void Settle() {}

  virtual Stream* compute_stream() = 0;
  // Calls `enqueue` and records the work that it puts on the compute stream, without doing it: the
  // same kernels on the same memory with the same arguments. Null if this device records nothing,
  // or cannot record this.
  virtual std::unique_ptr<Recording> Record(const std::function<void()>& enqueue) {
    return nullptr;
  }
  virtual std::unique_ptr<Stream> NewStream(StreamUse use) = 0;

  // Whether the host reads and writes this device's memory directly.
  virtual bool shares_host_memory() const = 0;
  // After what the stream has to do; done on return.
  virtual void CopyToHost(const void* from, void* host, size_t bytes, Stream* stream) = 0;
  virtual void CopyFromHost(const void* host, void* to, size_t bytes, Stream* stream) = 0;
  // Starts a copy of at most 4 KiB to the host, after what the stream has to do by now.
  virtual std::unique_ptr<HostReading> Read(const void* from, size_t bytes, Stream* stream);

  // Converts between layouts and floating types; equal element counts are required, the
  // shapes may differ (a matrix seen as a filter).
  virtual void Convert(const Tensor& from, const Tensor& to, Stream* stream) = 0;
};

using DeviceRegistry = Registry<Device, int /* threads, 0 = all */>;

}  // namespace gf
