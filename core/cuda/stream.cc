#include "core/cuda/stream.h"

#include "core/cuda/error.h"

namespace gf {

CudaEvent::CudaEvent(bool timed) {
  GF_CUDA(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming));
}
CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }

void CudaEvent::Record(cudaStream_t stream) { GF_CUDA(cudaEventRecord(event_, stream)); }
void CudaEvent::Wait() {
  if (!Done()) GF_CUDA(cudaEventSynchronize(event_));
}

bool CudaEvent::Done() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) return false;
  GF_CUDA(status);
  return true;
}

double CudaEvent::SecondsUntil(const CudaEvent& later) const {
  float milliseconds = 0;
  GF_CUDA(cudaEventElapsedTime(&milliseconds, event_, later.event_));
  return milliseconds / 1e3;
}

CudaStream::CudaStream(bool urgent) {
  int lowest = 0, highest = 0;
  GF_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  // Not ordered with the default stream.
  GF_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? highest : lowest));
}
CudaStream::~CudaStream() { cudaStreamDestroy(stream_); }

void CudaStream::Synchronize() { GF_CUDA(cudaStreamSynchronize(stream_)); }

std::unique_ptr<Event> CudaStream::Record() {
  auto event = std::make_unique<CudaEvent>();
  event->Record(stream_);
  return event;
}

void CudaStream::WaitFor(Event* event) {
  GF_CUDA(cudaStreamWaitEvent(stream_, static_cast<CudaEvent*>(event)->get(), 0));
}

}  // namespace gf
