#pragma once

#include <chrono>

#include "core/cuda/stream.h"

namespace gf {

// Converts timed events to times of the host's steady clock. The constructor and Set compare the
// clocks; 1,000 s later, a time is still accurate to 0.1 ms.
class GpuClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit GpuClock(Device* device) : device_(device) { Set(); }

  // Waits for the compute stream, so call it when little work is enqueued.
  void Set() {
    zero_.Record(RawStream(device_->compute_stream()));
    zero_.Wait();
    at_zero_ = std::chrono::steady_clock::now();
  }

  // Time of an event that is Done and was recorded after the last Set.
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
