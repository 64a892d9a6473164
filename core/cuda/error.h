#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace gf {

// A call of a CUDA library that failed: what was called and where, what the library says, and what
// to try.
class CudaError : public std::runtime_error {
 public:
  explicit CudaError(const std::string& message) : std::runtime_error(message) {}
};

// throw CudaError("<library>: <call> at <file>:<line>: <words>; <hint>")
[[noreturn]] void FailCall(const std::string& library, const std::string& call, const char* file,
                           int line, const std::string& words, const std::string& hint);

// Fails unless the call succeeded. Calls return before their work is done: what went wrong in it is
// reported by a later one.
void CheckCuda(cudaError_t status, const char* call, const char* file, int line);

#define GF_CUDA(call) ::gf::CheckCuda((call), #call, __FILE__, __LINE__)

}  // namespace gf
