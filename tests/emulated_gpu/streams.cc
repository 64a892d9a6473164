#include "tests/emulated_gpu/streams.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tests/emulated_gpu/memory.h"

namespace {

struct Work {
  std::function<bool()> attempt;  // whether it is done; what is not is tried again
  int64_t gf::emulated::Counts::*counted = nullptr;
};
using Clock = std::chrono::steady_clock;
using gf::emulated::Count;
using gf::emulated::Counts;
using gf::emulated::Mutex;
using gf::emulated::OpenMemory;
using Lock = std::lock_guard<std::recursive_mutex>;

// A point on a stream.
struct Mark {
  cudaStream_t stream;
  bool done = false;
  bool told_to_wait = false;  // by cudaEventQuery
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
  size_t alone = 0;  // so much work at the front is done without anybody's asking
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

// False where nothing is left to do, or nothing can be done now.
bool DoOne(cudaStream_t stream) {
  if (stream->work.empty()) return false;
  const OpenMemory open;
  if (!stream->work.front().attempt()) return false;
  stream->work.pop_front();
  if (stream->alone > 0) --stream->alone;
  return true;
}

// Calls `step`, which does some work, until `done`; others have the mutex in between.
template <typename Done, typename Step>
void Until(const Done& done, const Step& step) {
  for (;;) {
    {
      const Lock lock(Mutex());
      const OpenMemory open;  // once
      while (!done() && step()) {
      }
      if (done()) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void DoAll(cudaStream_t stream) {
  Until([stream] { return stream->work.empty(); }, [stream] { return DoOne(stream); });
}

// Work that is done without anybody's asking.
void RunAlone() {
  for (;;) {
    {
      const Lock lock(Mutex());
      for (cudaStream_t stream : Streams()) {
        while (stream->alone > 0 && DoOne(stream)) {
        }
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Put(cudaStream_t stream, Work work) {
  const Lock lock(Mutex());
  if (stream->capture != nullptr) {
    stream->capture->work.push_back(std::move(work));
    return;
  }
  if (work.counted != nullptr) Count(work.counted);
  stream->work.push_back(std::move(work));
}

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

namespace gf::emulated {

std::recursive_mutex& Mutex() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

void Enqueue(cudaStream_t stream, int64_t Counts::*counted, std::function<void()> work) {
  const auto attempt = [work = std::move(work)] {
    work();
    return true;
  };
  Put(stream, {attempt, counted});
}

void EnqueueAttempts(cudaStream_t stream, std::function<bool()> attempt) {
  const Lock lock(Mutex());
  Put(stream, {std::move(attempt)});
  stream->alone = stream->work.size();
  static std::once_flag once;
  std::call_once(once, [] { std::thread(RunAlone).detach(); });
}

bool CanLaunch(const dim3& grid, const dim3& block) {
  const bool can = grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && grid.x <= 0x7fffffff &&
                   grid.y <= 65535 && grid.z <= 65535 && block.x >= 1 && block.y >= 1 &&
                   block.z >= 1 && block.x * block.y * block.z <= 1024;
  if (!can) SetLastError(cudaErrorInvalidConfiguration);
  return can;
}

bool Finish(cudaStream_t stream) {
  {
    const Lock lock(Mutex());
    if (stream->capture != nullptr) {
      stream->broken = true;
      return false;
    }
  }
  DoAll(stream);
  return true;
}

void FinishAll() {
  std::set<cudaStream_t> streams;
  {
    const Lock lock(Mutex());
    streams = Streams();
    const auto busy = [](cudaStream_t stream) { return !stream->work.empty(); };
    if (std::any_of(streams.begin(), streams.end(), busy)) Count(&Counts::host_waits);
  }
  for (cudaStream_t stream : streams) DoAll(stream);
}

void SetLastError(cudaError_t error) { last_error = error; }
cudaError_t TakeLastError() { return std::exchange(last_error, cudaSuccess); }

}  // namespace gf::emulated

using gf::emulated::Enqueue;
using gf::emulated::Finish;

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
  Finish(stream);
  const Lock lock(Mutex());
  Streams().erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  {
    const Lock lock(Mutex());
    if (stream->capture == nullptr && !stream->work.empty()) Count(&Counts::host_waits);
  }
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
  Enqueue(stream, nullptr, [mark] {
    mark->done = true;
    mark->when = Clock::now();
  });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(Mutex());
  if (event->mark == nullptr) return cudaSuccess;
  const auto attempt = [mark = event->mark] {
    while (!mark->done && DoOne(mark->stream)) {
    }
    return mark->done;
  };
  Put(stream, {attempt});
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  std::shared_ptr<Mark> mark;
  {
    const Lock lock(Mutex());
    mark = event->mark;
    if (mark == nullptr) return cudaSuccess;
    // A query may have done the rest: the caller was told to wait.
    if (!mark->done || mark->told_to_wait) Count(&Counts::host_waits);
    mark->told_to_wait = false;
  }
  Until([&] { return mark->done; }, [&] { return DoOne(mark->stream); });
  return cudaSuccess;
}

// Who asks again and again sees the GPU get on.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Lock lock(Mutex());
  if (event->mark == nullptr || event->mark->done) return cudaSuccess;
  DoOne(event->mark->stream);
  event->mark->told_to_wait = true;
  return cudaErrorNotReady;
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
  Count(&Counts::graph_launches);
  for (const Work& work : executable->work) Put(stream, work);
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
