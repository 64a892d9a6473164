#include "core/estimate/estimate_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace gf {
namespace {

class NoEvent : public Event {
 public:
  void Wait() override {}
};

class NoStream : public Stream {
 public:
  void Synchronize() override {}
  std::unique_ptr<Event> Record() override { return std::make_unique<NoEvent>(); }
  void WaitFor(Event* event) override {}
};

Operation Other(size_t bytes) {
  Operation operation;
  operation.bytes = static_cast<int64_t>(bytes);
  return operation;
}

}  // namespace

EstimateDevice::EstimateDevice(Gpu gpu)
    : gpu_(std::move(gpu)), compute_stream_(std::make_unique<NoStream>()) {}

bool EstimateDevice::Supports(DType compute) const {
  if (compute == DType::kBF16) return gpu_.bf16 > 0;
  return compute == DType::kFP32 || compute == DType::kFP16;
}

std::shared_ptr<void> EstimateDevice::Allocate(size_t bytes) {
  const size_t length = std::max<size_t>(bytes, 1);
  void* const data =
      mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  bytes_ += bytes;
  return std::shared_ptr<void>(data, [length](void* p) { munmap(p, length); });
}

void EstimateDevice::Zero(void* data, size_t bytes, Stream* stream) { Add(Other(bytes)); }

std::unique_ptr<Stream> EstimateDevice::NewStream(StreamUse use) {
  return std::make_unique<NoStream>();
}

void EstimateDevice::CopyToHost(const void* from, void* host, size_t bytes, Stream* stream) {
  std::memset(host, 0, bytes);
  Add(Other(bytes));
}

void EstimateDevice::CopyFromHost(const void* host, void* to, size_t bytes, Stream* stream) {
  Add(Other(bytes));
}

void EstimateDevice::Convert(const Tensor& from, const Tensor& to, Stream* stream) {
  Add(Other(from.desc.bytes() + to.desc.bytes()));
}

std::vector<Operation> EstimateDevice::Take() { return std::exchange(operations_, {}); }

}  // namespace gf
