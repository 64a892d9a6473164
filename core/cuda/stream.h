#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "core/device.h"

namespace gf {

class CudaEvent : public Event {
 public:
  // `timed`: whether SecondsUntil may be called.
  explicit CudaEvent(bool timed = false);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  // Marks the work enqueued so far; replaces an earlier mark.
  void Record(cudaStream_t stream);
  void Wait() override;
  // Whether the work before the mark is complete. Does not wait.
  bool Done() const;
  // Seconds from this mark to a later one. Both must be timed and Done.
  double SecondsUntil(const CudaEvent& later) const;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaStream : public Stream {
 public:
  // `urgent`: its kernels run before those of other streams.
  explicit CudaStream(bool urgent);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void Synchronize() override;
  std::unique_ptr<Event> Record() override;
  void WaitFor(Event* event) override;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// The stream of a "cuda" device.
inline cudaStream_t RawStream(Stream* stream) { return static_cast<CudaStream*>(stream)->get(); }

}  // namespace gf
