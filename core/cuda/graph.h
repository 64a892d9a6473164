#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "core/device.h"

namespace gf {

// Implements Device::Record for a stream of the current GPU as a CUDA graph. The first work that
// cannot be captured (a call that waits for the GPU, a library that allocates) is reported as a
// warning.
std::unique_ptr<Recording> RecordGraph(cudaStream_t stream, const std::function<void()>& enqueue);

}  // namespace gf
