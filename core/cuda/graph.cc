#include "core/cuda/graph.h"

#include <atomic>
#include <string>
#include <type_traits>
#include <utility>

#include "core/cuda/error.h"
#include "core/error.h"

namespace gf {
namespace {

struct GraphDeleter {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, GraphDeleter>;

// While this object exists, work enqueued on the stream is captured instead of executed. Other
// threads may still call CUDA (the watchdog of NCCL queries events).
class Capture {
 public:
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    GF_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  }
  ~Capture() {
    if (stream_ != nullptr) End();
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Null if some work could not be captured.
  Graph End() {
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cudaStreamEndCapture(std::exchange(stream_, nullptr), &graph);
    Graph owned(graph);
    if (status == cudaSuccess) return owned;
    cudaGetLastError();  // clears the error, which the next call would report otherwise
    return nullptr;
  }

 private:
  cudaStream_t stream_;
};

class GraphRecording : public Recording {
 public:
  GraphRecording(cudaGraphExec_t executable, cudaStream_t stream)
      : executable_(executable), stream_(stream) {}
  ~GraphRecording() override { cudaGraphExecDestroy(executable_); }
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;

  void Replay() override { GF_CUDA(cudaGraphLaunch(executable_, stream_)); }

 private:
  const cudaGraphExec_t executable_;
  const cudaStream_t stream_;
};

void WarnOnce(const std::string& why) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) PrintWarning("part of the net is not run as a CUDA graph: ", why);
}

}  // namespace

std::unique_ptr<Recording> RecordGraph(cudaStream_t stream, const std::function<void()>& enqueue) {
  Graph graph;
  Capture capture(stream);
  try {
    enqueue();
    graph = capture.End();
  } catch (const CudaError& e) {
    WarnOnce(e.what());
    return nullptr;
  }
  if (graph == nullptr) {
    WarnOnce("its work cannot be captured");
    return nullptr;
  }
  cudaGraphExec_t executable = nullptr;
  GF_CUDA(cudaGraphInstantiate(&executable, graph.get(), 0));
  auto recording = std::make_unique<GraphRecording>(executable, stream);
  GF_CUDA(cudaGraphUpload(executable, stream));
  return recording;
}

}  // namespace gf
