#include "comm/pack/range_packer.h"

#include "comm/pack/cuda/copy_kernels.h"
#include "core/cuda/cuda_device.h"

namespace gf {
namespace {

class CudaRangePacker : public RangePacker {
 public:
  CudaRangePacker(Device* device, const PackedRanges& copies)
      : device_(device), copies_(copies), count_(static_cast<int>(copies.ranges.size())) {
    if (count_ == 0) return;
    std::vector<CopyRange> ranges;
    int64_t packed = 0;
    for (const ElementRange& range : copies.ranges) {
      ranges.push_back({range.begin, packed, range.end - range.begin});
      packed += ranges.back().count;
    }
    ranges_ = device->Allocate(ranges.size() * sizeof(CopyRange));
    device->CopyFromHost(ranges.data(), ranges_.get(), ranges.size() * sizeof(CopyRange),
                         device->compute_stream());
  }

  void Pack() override { Copy(true); }
  void Unpack() override { Copy(false); }
  void Merge(size_t first, size_t last) override {
    MergeRanges(static_cast<const CopyRange*>(ranges_.get()) + first,
                static_cast<int64_t>(last - first), copies_.pool.desc.dtype, copies_.pool.data,
                copies_.residual.as<float>(), RawStream(device_->compute_stream()));
  }

 private:
  void Copy(bool pack) {
    CopyRanges(static_cast<const CopyRange*>(ranges_.get()), count_, copies_.pool.desc.dtype,
               copies_.pool.data, copies_.packed.data, pack, RawStream(device_->compute_stream()));
  }

  Device* const device_;
  const PackedRanges copies_;
  const int count_;
  std::shared_ptr<void> ranges_;  // CopyRange, on the GPU
};

const bool registered = RangePackerRegistry::Get().Add(
    "cuda", [](Device* device, const PackedRanges& copies) -> std::unique_ptr<RangePacker> {
      return std::make_unique<CudaRangePacker>(device, copies);
    });

}  // namespace
}  // namespace gf
