#include "tests/emulated_gpu/streams.h"

#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tests/emulated_gpu/memory.h"

namespace {

using Work = std::function<void()>;
using Clock = std::chrono::steady_clock;
using gf::emulated::OpenMemory;

// A point on a stream.
struct Mark {
  cudaStream_t stream;
  bool done = false;
  Clock::time_point when;
};

}  // namespace

struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};
struct CUstream_st {
  std::deque<Work> work;
  std::unique_ptr<CUgraph_st> capture;
  bool broken = false;  // something was called that cannot be captured
};
struct CUevent_st {
  bool timed;
  std::shared_ptr<Mark> mark;  // null: never recorded
};

namespace {

std::set<cudaStream_t>& Streams() {
  static auto* const streams = new std::set<cudaStream_t>;
  return *streams;
}

// False where nothing is left to do.
bool DoOne(cudaStream_t stream) {
  if (stream->work.empty()) return false;
  const Work work = std::move(stream->work.front());
  stream->work.pop_front();
  const OpenMemory open;
  work();
  return true;
}

void FinishTo(const Mark& mark) {
  const OpenMemory open;  // once
  while (!mark.done && DoOne(mark.stream)) {
  }
}

thread_local cudaError_t last_error = cudaSuccess;

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

namespace gf::emulated {

std::recursive_mutex& Mutex() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

void Enqueue(cudaStream_t stream, Work work) {
  const Lock lock(Mutex());
  if (stream->capture != nullptr) {
    stream->capture->work.push_back(std::move(work));
  } else {
    stream->work.push_back(std::move(work));
  }
}

bool CanLaunch(const dim3& grid, const dim3& block) {
  const bool can = grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && grid.x <= 0x7fffffff &&
                   grid.y <= 65535 && grid.z <= 65535 && block.x >= 1 && block.y >= 1 &&
                   block.z >= 1 && block.x * block.y * block.z <= 1024;
  if (!can) SetLastError(cudaErrorInvalidConfiguration);
  return can;
}

bool Finish(cudaStream_t stream) {
  if (stream->capture != nullptr) {
    stream->broken = true;
    return false;
  }
  const OpenMemory open;  // once
  while (DoOne(stream)) {
  }
  return true;
}

void FinishAll() {
  for (cudaStream_t stream : Streams()) {
    while (DoOne(stream)) {
    }
  }
}

void SetLastError(cudaError_t error) { last_error = error; }
cudaError_t TakeLastError() { return std::exchange(last_error, cudaSuccess); }

}  // namespace gf::emulated

using gf::emulated::Enqueue;
using gf::emulated::Finish;
using gf::emulated::Mutex;

extern "C" {

cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  const Lock lock(Mutex());
  *stream = new CUstream_st;
  Streams().insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(Mutex());
  Finish(stream);
  Streams().erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(Mutex());
  return Finish(stream) ? cudaSuccess : cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st{(flags & cudaEventDisableTiming) == 0, nullptr};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(Mutex());
  auto mark = std::make_shared<Mark>();
  mark->stream = stream;
  event->mark = mark;
  Enqueue(stream, [mark] {
    mark->done = true;
    mark->when = Clock::now();
  });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(Mutex());
  if (event->mark != nullptr) Enqueue(stream, [mark = event->mark] { FinishTo(*mark); });
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(Mutex());
  if (event->mark != nullptr) FinishTo(*event->mark);
  return cudaSuccess;
}

// Who asks again and again sees the GPU get on.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Lock lock(Mutex());
  if (event->mark == nullptr || event->mark->done) return cudaSuccess;
  DoOne(event->mark->stream);
  return event->mark->done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const Lock lock(Mutex());
  if (!begin->timed || !end->timed || begin->mark == nullptr || end->mark == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (!begin->mark->done || !end->mark->done) return cudaErrorNotReady;
  const std::chrono::duration<float, std::milli> time = end->mark->when - begin->mark->when;
  *milliseconds = time.count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(Mutex());
  if (stream->capture != nullptr) return cudaErrorIllegalState;
  stream->capture = std::make_unique<CUgraph_st>();
  stream->broken = false;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(Mutex());
  *graph = nullptr;
  const std::unique_ptr<CUgraph_st> captured = std::move(stream->capture);
  if (captured == nullptr) return cudaErrorIllegalState;
  if (stream->broken) return cudaErrorStreamCaptureInvalidated;
  *graph = new CUgraph_st{captured->work};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  *executable = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Lock lock(Mutex());
  for (const Work& work : executable->work) Enqueue(stream, work);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}

}  // extern "C"
