#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/simd.h"

namespace gf {

// A test of kernels on every instruction set that this processor has.
class IsaTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > BestIsa()) GTEST_SKIP() << "not on this processor";
  }

  // The one of GetParam().
  template <class Kernels>
  static const Kernels& Choose(const Kernels& baseline, const Kernels& avx2,
                               const Kernels& avx512) {
    return GetParam() == Isa::kAvx512 ? avx512 : GetParam() == Isa::kAvx2 ? avx2 : baseline;
  }
};

inline std::string IsaName(const testing::TestParamInfo<Isa>& info) {
  return info.param == Isa::kAvx512 ? "avx512" : info.param == Isa::kAvx2 ? "avx2" : "baseline";
}

#define GF_ON_EVERY_ISA(suite)                                                                     \
  INSTANTIATE_TEST_SUITE_P(Isas, suite, testing::Values(Isa::kBaseline, Isa::kAvx2, Isa::kAvx512), \
                           ::gf::IsaName)

}  // namespace gf
