#include "core/cuda/stream.h"

#include "core/cuda/error.h"

namespace gf {

CudaEvent::CudaEvent() { GF_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }

void CudaEvent::Record(cudaStream_t stream) { GF_CUDA(cudaEventRecord(event_, stream)); }
void CudaEvent::Wait() { GF_CUDA(cudaEventSynchronize(event_)); }

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
