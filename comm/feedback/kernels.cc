#include "comm/feedback/kernels.h"

#include "comm/wire/wire_vector.h"

namespace gf {
namespace {

// Rounds a sum to the wire type and returns what that takes from it.
template <class Wire>
GF_INLINE NativeVec Round(NativeVec* sum) {
  typename Wire::T wire[kNativeLanes];
  StoreVec(Wire(), wire, *sum);
  const NativeVec rounded = LoadVec(Wire(), wire);
  const NativeBits infinite = NativeBits{} + 0x7f800000u;
  const NativeBits finite = (NativeBits)(((NativeBits)rounded & infinite) != infinite);
  const NativeVec rest = *sum - rounded;
  *sum = rounded;
  return (NativeVec)((NativeBits)rest & finite);
}

template <class Wire>
void RoundAll(float* g, float* h, int64_t n) {
  int64_t i = 0;
  for (; i + kNativeLanes <= n; i += kNativeLanes) {
    NativeVec sum = LoadVec(AsFP32(), g + i) + LoadVec(AsFP32(), h + i);
    StoreVec(AsFP32(), h + i, Round<Wire>(&sum));
    StoreVec(AsFP32(), g + i, sum);
  }
  if (i < n) {
    NativeVec sum = LoadPart(AsFP32(), g + i, n - i) + LoadPart(AsFP32(), h + i, n - i);
    StorePart(AsFP32(), h + i, Round<Wire>(&sum), n - i);
    StorePart(AsFP32(), g + i, sum, n - i);
  }
}

}  // namespace

GF_SIMD_DEFINE(FeedbackKernels, Feedback) = {&RoundAll<AsBF16>, &RoundAll<AsFP16>};

}  // namespace gf
