// Gradients of scales on the GPU against their formula.
#include "layers/cuda/scale_kernels.h"

#include <cmath>

#include "tests/layers/cuda/kernel_test.h"

namespace gf {
namespace {

using ScaleKernelsTest = KernelTest;

// Channels of more elements than a block has threads, in parts that a block's steps do not divide.
TEST_P(ScaleKernelsTest, SumsGoOverAllOfAChannel) {
  for (const ScaleView& view : {ScaleView{9, 3, 70}, {700, 2, 1}, {2, 2, 1000}, {3, 1, 256}}) {
    const int64_t count = view.outer * view.channels * view.inner;
    Numbers x(GetParam(), count), dy(GetParam(), count), gamma(DType::kFP32, view.channels);
    std::vector<double> dgamma(view.channels), dbeta(view.channels);
    for (int64_t i = 0; i < count; ++i) {
      // Small integers: sums are exact in double.
      x.Set(i, static_cast<float>(Philox(1, 5, i)[0] % 9) - 3);
      dy.Set(i, static_cast<float>(Philox(2, 5, i)[0] % 7) - 2);
      const int64_t c = i / view.inner % view.channels;
      dgamma[c] += x.Get(i) * dy.Get(i);
      dbeta[c] += dy.Get(i);
    }
    const auto gpu_dgamma = NewNumbers(GetParam(), view.channels),
               gpu_dbeta = NewNumbers(GetParam(), view.channels), gpu_gamma = Put(gamma);
    ScaleGradient(view, GetParam(), Put(x).get(), Put(dy).get(),
                  static_cast<const float*>(gpu_gamma.get()), gpu_dgamma.get(), gpu_dbeta.get(),
                  nullptr, stream());
    Numbers expected_dgamma(GetParam(), view.channels), expected_dbeta(GetParam(), view.channels);
    for (int64_t c = 0; c < view.channels; ++c) {
      expected_dgamma.Set(c, static_cast<float>(dgamma[c]));
      expected_dbeta.Set(c, static_cast<float>(dbeta[c]));
    }
    ExpectSame(Get(gpu_dgamma, GetParam(), view.channels), expected_dgamma, "dgamma");
    ExpectSame(Get(gpu_dbeta, GetParam(), view.channels), expected_dbeta, "dbeta");
  }
}

GF_FOR_EVERY_TYPE(ScaleKernelsTest);

}  // namespace
}  // namespace gf
