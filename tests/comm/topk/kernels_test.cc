#include "comm/topk/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/comm/wire/isa_test.h"
#include "tests/comm/wire/number_formats.h"

namespace gf {
namespace {

class TopkKernelsTest : public IsaTest {
 protected:
  const TopkKernels& kernels() const { return Choose(Topk_baseline, Topk_avx2, Topk_avx512); }
  const TopkFunctions& For(DType type) const {
    return type == DType::kFP32 ? kernels().fp32 : kernels().bf16;
  }
};

TEST_P(TopkKernelsTest, AccumulateRoundsProductsAndSums) {
  Random random(1, 2);
  for (const DType type : {DType::kFP32, DType::kBF16}) {
    for (const int64_t count : {0, 1, 15, 16, 17, 1003}) {
      for (const auto& [velocity, nesterov] :
           {std::pair(true, false), {true, true}, {false, false}}) {
        Numbers g(type, count, 2), u(DType::kFP32, count, 4), h(DType::kFP32, count, 8);
        for (Numbers* numbers : {&g, &u, &h}) numbers->FillGaussian(&random);
        const Numbers old_u = u, old_h = h;
        For(type).accumulate(g.data(), velocity ? static_cast<float*>(u.data()) : nullptr,
                             static_cast<float*>(h.data()), count, 0.7f, 0.9f, nesterov);
        for (int64_t i = 0; i < count; ++i) {
          volatile const float entering = 0.7f * g.Get(i);
          volatile const float kept = 0.9f * old_u.Get(i);
          volatile const float sum = velocity ? kept + entering : entering;
          volatile const float ahead = 0.9f * sum;
          volatile const float more = nesterov ? ahead + entering : sum;
          ASSERT_EQ(u.Get(i), velocity ? sum : old_u.Get(i)) << i;
          ASSERT_EQ(h.Get(i), old_h.Get(i) + more) << i;
        }
        EXPECT_TRUE(g.GuardIntact() && u.GuardIntact() && h.GuardIntact());
      }
    }
  }
}

TEST_P(TopkKernelsTest, SquaresAreThoseOfDouble) {
  Random random(2, 2);
  for (const DType type : {DType::kFP32, DType::kBF16}) {
    for (const int64_t count : {0, 1, 31, 32, 33, 4096, 4097, 10007}) {
      Numbers g(type, count);
      g.FillGaussian(&random);
      double expected = 0;
      for (int64_t i = 0; i < count; ++i) expected += double{g.Get(i)} * double{g.Get(i)};
      EXPECT_NEAR(For(type).squares(g.data(), count), expected, 1e-6 * expected);
    }
  }
}

TEST_P(TopkKernelsTest, AtLeastFindsMagnitudesInOrder) {
  Random random(3, 2);
  for (const int64_t count : {0, 1, 3, 4, 15, 16, 17, 1003, 65536}) {
    Numbers h(DType::kFP32, count, 4);
    h.FillGaussian(&random);
    if (count > 3) {
      h.Set(1, std::nanf(""));
      h.Set(2, -std::numeric_limits<float>::infinity());
      h.Set(3, -0.f);
    }
    for (const float least : {0.f, 0.5f, 3.f, std::numeric_limits<float>::infinity()}) {
      std::vector<uint16_t> expected, places(count + kTopkSlack);
      std::vector<float> values(count + kTopkSlack);
      for (int64_t i = 0; i < count; ++i) {
        if ((BitsOf(h.Get(i)) & 0x7fffffffu) >= BitsOf(least)) {
          expected.push_back(static_cast<uint16_t>(i));
        }
      }
      const int64_t found = kernels().at_least(static_cast<float*>(h.data()), count, BitsOf(least),
                                               places.data(), values.data());
      places.resize(found);
      ASSERT_EQ(places, expected) << count << " " << least;
      for (int64_t k = 0; k < found; ++k) ASSERT_TRUE(SameNumber(values[k], h.Get(places[k])));
    }
  }
}

TEST_P(TopkKernelsTest, MagnitudesAreCountedAndListedByTheirBits) {
  constexpr uint32_t kLast = 0x7fffffffu;
  Random random(6, 2);
  for (const int64_t count : {0, 1, 3, 4, 15, 16, 17, 1003}) {
    Numbers h(DType::kFP32, count, 4);
    h.FillGaussian(&random);
    if (count > 4) {
      h.Set(1, std::nanf(""));
      h.Set(2, -std::numeric_limits<float>::infinity());
      h.Set(3, -0.f);
      h.Set(4, -0.5f);
    }
    const float* const data = static_cast<float*>(h.data());
    for (const auto& [least, most] : {std::pair{0u, kLast},
                                      {0u, 0u},
                                      {BitsOf(0.5f), BitsOf(0.5f)},
                                      {BitsOf(0.5f), BitsOf(1.5f)},
                                      {BitsOf(3.f), kLast},
                                      {kLast, kLast}}) {
      std::vector<uint32_t> expected, bits(count + kTopkSlack);
      int64_t larger = 0;
      for (int64_t i = 0; i < count; ++i) {
        const uint32_t magnitude = BitsOf(h.Get(i)) & kLast;
        if (magnitude >= least && magnitude <= most) expected.push_back(magnitude);
        larger += magnitude > most;
      }
      bits.resize(kernels().within(data, count, least, most, bits.data()));
      ASSERT_EQ(bits, expected) << count << " " << least;
      ASSERT_EQ(kernels().count_from(data, count, most + 1), larger) << count << " " << most;
      ASSERT_EQ(kernels().count_from(data, count, least),
                larger + static_cast<int64_t>(expected.size()));
    }
  }
}

TEST_P(TopkKernelsTest, AddAtAddsOnlyThere) {
  for (const DType type : {DType::kFP32, DType::kBF16}) {
    Numbers g(type, 100);
    for (int i = 0; i < 100; ++i) g.Set(i, 1);
    const std::vector<uint16_t> places = {0, 7, 8, 99};
    const std::vector<float> values = {0.5f, -1, 3, 2};
    For(type).add_at(g.data(), places.data(), values.data(), 4);
    for (int i = 0, k = 0; i < 100; ++i) {
      const bool there = k < 4 && places[k] == i;
      ASSERT_EQ(g.Get(i), there ? 1 + values[k] : 1) << i;
      k += there;
    }
    EXPECT_TRUE(g.GuardIntact());
  }
}

TEST_P(TopkKernelsTest, SendAllKeepsWhatRoundingTakes) {
  Random random(4, 2);
  for (const DType type : {DType::kFP32, DType::kBF16}) {
    Numbers g(type, 1003), h(DType::kFP32, 1003);
    h.FillGaussian(&random);
    h.Set(5, std::numeric_limits<float>::infinity());
    const Numbers old = h;
    For(type).send_all(g.data(), static_cast<float*>(h.data()), 1003);
    for (int i = 0; i < 1003; ++i) {
      ASSERT_EQ(g.Get(i), Rounded(type, old.Get(i))) << i;
      ASSERT_EQ(h.Get(i), i == 5 ? 0 : old.Get(i) - g.Get(i)) << i;
    }
  }
}

GF_ON_EVERY_ISA(TopkKernelsTest);

}  // namespace
}  // namespace gf
