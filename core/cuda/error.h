#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace gf {

// A failed call of a CUDA library: the call and its place in the source, the library's message, and
// a hint.
class CudaError : public std::runtime_error {
 public:
  explicit CudaError(const std::string& message) : std::runtime_error(message) {}
};

// Throws CudaError("<library>: <call> at <file>:<line>: <words>; <hint>").
[[noreturn]] void FailCall(const std::string& library, const std::string& call, const char* file,
                           int line, const std::string& words, const std::string& hint);

// Throws CudaError unless the call succeeded. Calls return before their work is complete, so a
// later call may report an error of earlier work.
void CheckCuda(cudaError_t status, const char* call, const char* file, int line);

#define GF_CUDA(call) ::gf::CheckCuda((call), #call, __FILE__, __LINE__)

}  // namespace gf
