#include "tools/gfbench/device_copy.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/parallel.h"
#include "core/tensor.h"

namespace gf {

void CopyBytes(Device* device, void* from, void* to, int64_t bytes) {
  if (!device->shares_host_memory()) {
    const TensorDesc desc = {Shape{bytes / 4}, DType::kFP32, Layout()};
    device->Convert({desc, from, nullptr}, {desc, to, nullptr}, device->compute_stream());
    device->compute_stream()->Synchronize();
    return;
  }
  ParallelFor(bytes, 4096, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                end - begin);
  });
}

double CopyRate(Device* device) {
  constexpr int64_t kBytes = int64_t{256} << 20;
  constexpr int kCopies = 5;
  const auto from = device->Allocate(kBytes), to = device->Allocate(kBytes);
  device->Zero(from.get(), kBytes, device->compute_stream());
  double best = 0;
  for (int i = 0; i < kCopies; ++i) {
    const auto start = std::chrono::steady_clock::now();
    CopyBytes(device, from.get(), to.get(), kBytes);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * kBytes / seconds.count());
  }
  return best;
}

}  // namespace gf
