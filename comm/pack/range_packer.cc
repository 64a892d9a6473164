#include "comm/pack/range_packer.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>

namespace gf {
namespace {

class CpuRangePacker : public RangePacker {
 public:
  explicit CpuRangePacker(const PackedRanges& copies)
      : copies_(copies), size_(SizeOf(copies.pool.desc.dtype)) {}

  void Pack() override {
    ForRanges([](char* pool, char* packed, size_t bytes) { std::memcpy(packed, pool, bytes); });
  }
  void Unpack() override {
    ForRanges([](char* pool, char* packed, size_t bytes) { std::memcpy(pool, packed, bytes); });
  }
  void Merge(size_t first, size_t last) override {
    for (size_t r = first; r < last; ++r) {
      const ElementRange& range = copies_.ranges[r];
      float* const h = copies_.residual.as<float>();
      if (copies_.pool.desc.dtype == DType::kFP32) {
        float* const g = copies_.pool.as<float>();
        for (int64_t i = range.begin; i < range.end; ++i) {
          if (h[i] != 0) g[i] += h[i];
        }
      } else {
        CHECK(copies_.pool.desc.dtype == DType::kBF16);
        uint16_t* const g = copies_.pool.as<uint16_t>();
        for (int64_t i = range.begin; i < range.end; ++i) {
          if (h[i] != 0) g[i] = ToBF16(FromBF16(g[i]) + h[i]);
        }
      }
      std::fill(h + range.begin, h + range.end, 0.f);
    }
  }

 private:
  template <typename Copy>
  void ForRanges(const Copy& copy) const {
    char* packed = copies_.packed.as<char>();
    for (const ElementRange& range : copies_.ranges) {
      const size_t bytes = (range.end - range.begin) * size_;
      copy(copies_.pool.as<char>() + range.begin * size_, packed, bytes);
      packed += bytes;
    }
  }

  const PackedRanges copies_;
  const size_t size_;  // bytes of an element
};

const bool registered = RangePackerRegistry::Get().Add(
    "cpu", [](Device*, const PackedRanges& copies) -> std::unique_ptr<RangePacker> {
      return std::make_unique<CpuRangePacker>(copies);
    });

}  // namespace
}  // namespace gf
