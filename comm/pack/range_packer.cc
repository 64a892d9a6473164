#include "comm/pack/range_packer.h"

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
