// Devices, memory and copies of the emulated CUDA.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tests/emulated_gpu/memory.h"
#include "tests/emulated_gpu/streams.h"

namespace {

using gf::emulated::Count;
using gf::emulated::Counts;
using gf::emulated::Enqueue;
using gf::emulated::InMemory;
using gf::emulated::Mutex;
using Lock = std::lock_guard<std::recursive_mutex>;

// Few, so that small tensors fill them.
constexpr int kMultiprocessors = 6, kThreadsOfMultiprocessor = 2048;

// Page-locked memory: bytes by address.
std::map<char*, size_t>& Pinned() {
  static auto* const pinned = new std::map<char*, size_t>;
  return *pinned;
}

bool IsPinned(const void* data) {
  char* const address = static_cast<char*>(const_cast<void*>(data));
  auto block = Pinned().upper_bound(address);
  if (block == Pinned().begin()) return false;
  --block;
  return address < block->first + block->second;
}

}  // namespace

extern "C" {

// All of them are alike and share the process's memory; GF_EMULATED_GPUS says how many.
cudaError_t cudaGetDeviceCount(int* count) {
  const char* const text = std::getenv("GF_EMULATED_GPUS");
  *count = text != nullptr ? std::atoi(text) : 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  int count = 0;
  cudaGetDeviceCount(&count);
  return device < count ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = kMultiprocessors;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = kThreadsOfMultiprocessor;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof(*properties));
  std::snprintf(properties->name, sizeof(properties->name), "emulated GPU");
  properties->major = 9;
  properties->multiProcessorCount = kMultiprocessors;
  properties->totalGlobalMem = gf::emulated::TotalBytes();
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  std::snprintf(id, length, "0000:00:%02x.0", static_cast<unsigned>(device));
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  return cudaSuccess;
}

// Half of what the number of threads allows, as for kernels of 64 registers.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          size_t) {
  *blocks = kThreadsOfMultiprocessor / threads / 2;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return gf::emulated::TakeLastError(); }
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorInvalidConfiguration ? "cudaErrorInvalidConfiguration" : "an error";
}
const char* cudaGetErrorString(cudaError_t error) {
  static thread_local char words[64];
  std::snprintf(words, sizeof(words), "error %d of the emulated CUDA", static_cast<int>(error));
  return words;
}

cudaError_t cudaMalloc(void** data, size_t bytes) {
  const Lock lock(Mutex());
  *data = gf::emulated::NewMemory(bytes);
  return *data != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void* data) {
  gf::emulated::FinishAll();
  const Lock lock(Mutex());
  if (data != nullptr) gf::emulated::FreeMemory(data);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  gf::emulated::FinishAll();
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Lock lock(Mutex());
  *free = gf::emulated::FreeBytes();
  *total = gf::emulated::TotalBytes();
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  const Lock lock(Mutex());
  *data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (*data == nullptr) return cudaErrorMemoryAllocation;
  Pinned()[static_cast<char*>(*data)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  gf::emulated::FinishAll();
  const Lock lock(Mutex());
  Pinned().erase(static_cast<char*>(data));
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  const Lock lock(Mutex());
  if (!InMemory(data, bytes)) return cudaErrorInvalidValue;
  Enqueue(stream, &Counts::memsets, [=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  std::unique_lock<std::recursive_mutex> lock(Mutex());
  const bool from_gpu = kind != cudaMemcpyHostToDevice, to_gpu = kind != cudaMemcpyDeviceToHost;
  if (InMemory(from, bytes) != from_gpu || InMemory(to, bytes) != to_gpu) {
    return cudaErrorInvalidValue;
  }
  if (!from_gpu && !IsPinned(from)) {
    // CUDA takes a copy of it before it returns.
    const char* const data = static_cast<const char*>(from);
    Enqueue(stream, &Counts::copies, [to, copy = std::vector<char>(data, data + bytes)] {
      std::memcpy(to, copy.data(), copy.size());
    });
    Count(&Counts::host_waits);
    return cudaSuccess;
  }
  Enqueue(stream, &Counts::copies, [=] { std::memmove(to, from, bytes); });
  if (to_gpu || IsPinned(to)) return cudaSuccess;
  lock.unlock();
  return cudaStreamSynchronize(stream);
}

}  // extern "C"
