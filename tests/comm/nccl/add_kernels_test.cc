// The kernel that adds what a rank receives, against sums in FP32 that are rounded once.
#include "comm/nccl/add_kernels.h"

#include "core/error.h"
#include "tests/layers/cuda/kernel_test.h"

namespace gf {
namespace {

using AddKernelsTest = KernelTest;

TEST_P(AddKernelsTest, AddsElementByElement) {
  const DType type = GetParam();
  for (const int64_t count : {1, 5, 1000, 70001}) {
    // Aligned for packs, and not.
    for (const int64_t first : {0, 1}) {
      Numbers from(type, first + count), to(type, first + count), expected(type, first + count);
      for (int64_t i = 0; i < first + count; ++i) {
        from.Set(i, static_cast<float>(Philox(1, 6, i)[0]) * 0x1p-31f - 1);
        to.Set(i, static_cast<float>(Philox(2, 6, i)[0]) * 0x1p-31f - 1);
        expected.Set(i, i < first ? to.Get(i) : to.Get(i) + from.Get(i));
      }
      const auto source = Put(from), target = Put(to);
      const int64_t offset = first * static_cast<int64_t>(SizeOf(type));
      AddElements(type, static_cast<char*>(source.get()) + offset,
                  static_cast<char*>(target.get()) + offset, count, stream());
      ExpectSame(Get(target, type, first + count), expected, StrCat(count, " from ", first));
    }
  }
}

GF_FOR_EVERY_TYPE(AddKernelsTest);

}  // namespace
}  // namespace gf
