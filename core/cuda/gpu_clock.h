#pragma once

#include <chrono>

#include "core/cuda/stream.h"

namespace gf {

// Tells when a timed event was passed, by the host's steady clock. The clocks are compared when the
// object is made and in Set; 1,000 s later a time is still right to 0.1 ms.
class GpuClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit GpuClock(Device* device) : device_(device) { Set(); }

  // Waits for the compute stream: to be called where little is on it.
  void Set() {
    zero_.Record(RawStream(device_->compute_stream()));
    zero_.Wait();
    at_zero_ = std::chrono::steady_clock::now();
  }

  // Of an event that is Done, recorded after the last Set.
  TimePoint TimeOf(const CudaEvent& event) const {
    const std::chrono::duration<double> since(zero_.SecondsUntil(event));
    return at_zero_ + std::chrono::duration_cast<TimePoint::duration>(since);
  }

 private:
  Device* const device_;
  CudaEvent zero_{true};
  TimePoint at_zero_;
};

}  // namespace gf
