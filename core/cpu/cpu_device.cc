#include <glog/logging.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>

#include "core/cpu/dnnl.h"
#include "core/cpu/pages.h"
#include "core/device.h"
#include "core/parallel.h"
#include "core/readable.h"

namespace gf {
namespace {

class CpuEvent : public Event {
 public:
  void Wait() override {}
};

class CpuStream : public Stream {
 public:
  void Synchronize() override {}
  std::unique_ptr<Event> Record() override { return std::make_unique<CpuEvent>(); }
  void WaitFor(Event* event) override {}
};

// As Linux names it; empty if it does not.
std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "";
}

// The CPU. Work is complete when a call returns, so streams and events do nothing.
class CpuDevice : public Device {
 public:
  explicit CpuDevice(int threads) {
    if (threads > 0) omp_set_num_threads(threads);
  }

  std::string name() const override { return "cpu"; }

  std::string Description() const override {
    const dnnl_version_t* v = dnnl_version();
    const int threads = omp_get_max_threads();
    return StrCat("cpu, ", Counted(threads, "thread"), ", ", DnnlIsaName(), ", oneDNN ", v->major,
                  ".", v->minor, ".", v->patch);
  }

  std::string Model() const override { return StrCat(Description(), ", ", ProcessorName()); }

  bool Supports(DType compute) const override {
    return compute == DType::kFP32 ||
           (compute == DType::kBF16 && DnnlHas(dnnl::cpu_isa::avx512_core));
  }

  std::shared_ptr<void> Allocate(size_t bytes) override {
    bytes = std::max<size_t>(bytes, 1);
    if (bytes >= kHugePage) return MapPages(bytes);
    const size_t size = (bytes + 63) / 64 * 64;
    void* data = std::aligned_alloc(64, size);
    if (data == nullptr) throw std::bad_alloc();
    std::memset(data, 0, size);
    return std::shared_ptr<void>(data, std::free);
  }

  void Zero(void* data, size_t bytes, Stream* stream) override {
    ParallelFor(static_cast<int64_t>(bytes), 1 << 21, [&](int64_t begin, int64_t end) {
      std::memset(static_cast<char*>(data) + begin, 0, end - begin);
    });
  }

  void Settle() override { MoveToHugePages(); }

  Stream* compute_stream() override { return &stream_; }
  std::unique_ptr<Stream> NewStream(StreamUse) override { return std::make_unique<CpuStream>(); }

  bool shares_host_memory() const override { return true; }
  void CopyToHost(const void* from, void* host, size_t bytes, Stream* stream) override {
    std::memcpy(host, from, bytes);
  }
  void CopyFromHost(const void* host, void* to, size_t bytes, Stream* stream) override {
    std::memcpy(to, host, bytes);
  }

  void Convert(const Tensor& from, const Tensor& to, Stream* stream) override {
    CHECK_EQ(from.desc.shape.count(), to.desc.shape.count());
    dnnl::memory::desc source = ToDnnl(from.desc), target = ToDnnl(to.desc);
    // A plain tensor takes the other tensor's shape: a weight matrix treated as filters.
    if (DnnlDims(source) != DnnlDims(target)) {
      if (from.desc.layout.plain()) {
        source = PlainDesc(Shape(DnnlDims(target)), from.desc.dtype);
      } else {
        CHECK(to.desc.layout.plain()) << from.desc.layout.Name() << to.desc.layout.Name();
        target = PlainDesc(Shape(DnnlDims(source)), to.desc.dtype);
      }
    }
    dnnl::memory a = DnnlMemory(source, from.data), b = DnnlMemory(target, to.data);
    dnnl::reorder(a, b).execute(DnnlStream(), a, b);
    DnnlStream().wait();
  }

 private:
  CpuStream stream_;
};

GF_REGISTER(DeviceRegistry, "cpu", CpuDevice);

}  // namespace
}  // namespace gf
