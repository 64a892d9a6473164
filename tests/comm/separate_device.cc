#include "tests/comm/separate_device.h"

#include <glog/logging.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "comm/feedback/feedback_arithmetic.h"
#include "comm/low_rank/low_rank_arithmetic.h"
#include "comm/pack/range_packer.h"
#include "comm/periodic/outer_arithmetic.h"
#include "comm/quantized/quantized_arithmetic.h"
#include "comm/sparse/chunk_arithmetic.h"
#include "comm/topk/topk_arithmetic.h"
#include "comm/wire/wire.h"

namespace gf {
namespace {

// Addresses of the device, and as many behind them with the bytes.
constexpr size_t kReserved = size_t{1} << 36;
constexpr size_t kPage = 4096;

char* Reserve() {
  void* const memory =
      mmap(nullptr, 2 * kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  PCHECK(memory != MAP_FAILED);
  return static_cast<char*>(memory);
}

char* Base() {
  static char* const base = Reserve();
  return base;
}

}  // namespace

SeparateDevice::SeparateDevice(std::string address)
    : address_(std::move(address)), cpu_(DeviceRegistry::Get().Create("device", "cpu", 1)) {}

void* SeparateDevice::HostAddress(const void* device_address) {
  const char* const address = static_cast<const char*>(device_address);
  CHECK(address >= Base() && address < Base() + kReserved) << "not of this device";
  return const_cast<char*>(address) + kReserved;
}

Tensor SeparateDevice::HostView(const Tensor& tensor) {
  Tensor view = tensor;
  view.data = HostAddress(tensor.data);
  return view;
}

std::shared_ptr<void> SeparateDevice::Allocate(size_t bytes) {
  static std::atomic<size_t> used{0};
  const size_t size = (bytes / kPage + 1) * kPage;
  const size_t begin = used.fetch_add(size);
  CHECK_LE(begin + size, kReserved) << "the test's memory is used up";
  char* const address = Base() + begin;
  PCHECK(mprotect(HostAddress(address), size, PROT_READ | PROT_WRITE) == 0);
  return std::shared_ptr<void>(address, [size](void* p) {
    PCHECK(mmap(HostAddress(p), size, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED);
  });
}

void SeparateDevice::Zero(void* data, size_t bytes, Stream* stream) {
  std::memset(HostAddress(data), 0, bytes);
}

void SeparateDevice::CopyToHost(const void* from, void* host, size_t bytes, Stream* stream) {
  std::memcpy(host, HostAddress(from), bytes);
}

void SeparateDevice::CopyFromHost(const void* host, void* to, size_t bytes, Stream* stream) {
  std::memcpy(HostAddress(to), host, bytes);
}

void SeparateDevice::Convert(const Tensor& from, const Tensor& to, Stream* stream) {
  CHECK(from.desc.layout.plain() && to.desc.layout.plain());
  const int64_t count = from.desc.shape.count();
  CHECK_EQ(count, to.desc.shape.count());
  std::vector<float> values(count);
  const auto wire = [](DType dtype) { return WireFor(DType::kFP32, dtype); };
  wire(from.desc.dtype).decode(HostAddress(from.data), values.data(), count);
  wire(to.desc.dtype).encode(values.data(), HostAddress(to.data), count);
}

namespace {

// For the conversions of the processor's arithmetic.
Device* HostDevice() {
  static Device* const device = DeviceRegistry::Get().Create("device", "cpu", 1).release();
  return device;
}

const bool device_registered = DeviceRegistry::Get().Add(
    "separate", [](int) -> std::unique_ptr<Device> { return std::make_unique<SeparateDevice>(); });

const bool arithmetic_registered = ChunkArithmeticRegistry::Get().Add(
    "separate", [](Device* device, const ChunkGrid& grid, const ChunkPools& pools,
                   const ChunkFactors& factors) {
      const ChunkPools host = {
          SeparateDevice::HostView(pools.gradients), SeparateDevice::HostView(pools.residual),
          SeparateDevice::HostView(pools.packed), SeparateDevice::HostView(pools.norms)};
      return ChunkArithmeticRegistry::Get().Create("device", "cpu", device, grid, host, factors);
    });

const bool feedback_registered = FeedbackArithmeticRegistry::Get().Add(
    "separate", [](Device* device, const FeedbackPools& pools) {
      return FeedbackArithmeticRegistry::Get().Create(
          "device", "cpu", device,
          {SeparateDevice::HostView(pools.gradients), SeparateDevice::HostView(pools.residual),
           pools.wire});
    });

const bool outer_registered = OuterArithmeticRegistry::Get().Add(
    "separate", [](Device* device, const OuterPools& pools, const OuterFactors& factors) {
      OuterPools host = pools;
      for (Tensor* pool : {&host.weights, &host.anchor, &host.differences, &host.velocity}) {
        if (pool->data != nullptr) *pool = SeparateDevice::HostView(*pool);
      }
      return OuterArithmeticRegistry::Get().Create("device", "cpu", device, host, factors);
    });

const bool packer_registered =
    RangePackerRegistry::Get().Add("separate", [](Device* device, const PackedRanges& copies) {
      PackedRanges host = copies;
      host.pool = SeparateDevice::HostView(copies.pool);
      host.packed = SeparateDevice::HostView(copies.packed);
      return RangePackerRegistry::Get().Create("device", "cpu", device, host);
    });

const bool low_rank_registered = LowRankArithmeticRegistry::Get().Add(
    "separate",
    [](Device* device, const LowRankPools& pools, const std::vector<LowRankMatrix>& matrices) {
      const LowRankPools host = {
          SeparateDevice::HostView(pools.gradients), SeparateDevice::HostView(pools.residual),
          SeparateDevice::HostView(pools.left), SeparateDevice::HostView(pools.right)};
      return LowRankArithmeticRegistry::Get().Create("device", "cpu", HostDevice(), host, matrices);
    });

// The sum of another object, in the memory of the device too.
class SeparateSum : public EncodedSum {
 public:
  explicit SeparateSum(std::shared_ptr<const EncodedSum> sum) : sum_(std::move(sum)) {}
  void OnHost(float* messages) const override { sum_->OnHost(messages); }
  void OnDevice(float* messages, Stream* stream) const override {
    sum_->OnHost(static_cast<float*>(SeparateDevice::HostAddress(messages)));
  }

 private:
  const std::shared_ptr<const EncodedSum> sum_;
};

class SeparateQuantizedArithmetic : public QuantizedArithmetic {
 public:
  explicit SeparateQuantizedArithmetic(std::unique_ptr<QuantizedArithmetic> cpu)
      : cpu_(std::move(cpu)) {}
  void Encode(int bucket) override { cpu_->Encode(bucket); }
  std::shared_ptr<const EncodedSum> SumOf(int bucket) override {
    return std::make_shared<SeparateSum>(cpu_->SumOf(bucket));
  }
  void Decode(int bucket) override { cpu_->Decode(bucket); }
  void Rescale(float factor) override { cpu_->Rescale(factor); }

 private:
  const std::unique_ptr<QuantizedArithmetic> cpu_;
};

const bool quantized_registered = QuantizedArithmeticRegistry::Get().Add(
    "separate",
    [](Device* device, const QuantizedPools& pools, const std::vector<QuantizedBucket>& buckets,
       const QuantizedOptions& options) -> std::unique_ptr<QuantizedArithmetic> {
      const QuantizedPools host = {SeparateDevice::HostView(pools.gradients),
                                   SeparateDevice::HostView(pools.residual),
                                   SeparateDevice::HostView(pools.messages)};
      return std::make_unique<SeparateQuantizedArithmetic>(
          QuantizedArithmeticRegistry::Get().Create("device", "cpu", device, host, buckets,
                                                    options));
    });

const bool topk_registered = TopkArithmeticRegistry::Get().Add(
    "separate", [](Device* device, const TopkPools& pools, const TopkFactors& factors) {
      TopkPools host = pools;
      for (Tensor* tensor : {&host.gradients, &host.residual, &host.velocity, &host.messages}) {
        if (tensor->data != nullptr) *tensor = SeparateDevice::HostView(*tensor);
      }
      return TopkArithmeticRegistry::Get().Create("device", "cpu", device, host, factors);
    });

}  // namespace
}  // namespace gf
