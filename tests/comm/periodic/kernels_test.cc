#include "comm/periodic/kernels.h"

#include <gtest/gtest.h>

#include "tests/comm/wire/isa_test.h"
#include "tests/comm/wire/number_formats.h"

namespace gf {
namespace {

class OuterKernelsTest : public IsaTest {
 protected:
  static float* Data(Numbers* numbers) { return static_cast<float*>(numbers->data()); }
};

TEST_P(OuterKernelsTest, MakeTheBitsOfTheFormulas) {
  const OuterKernels& kernels = Choose(Outer_baseline, Outer_avx2, Outer_avx512);
  constexpr float kScale = 1.f / 3, kRate = 0.7f, kMomentum = 0.9f;
  Random random(3, 1);
  for (const int64_t count : {0, 1, 3, 4, 7, 8, 15, 16, 17, 33, 1000, 4099}) {
    Numbers anchor(DType::kFP32, count, 4 * (count % 3)), weights(DType::kFP32, count, 4);
    Numbers d(DType::kFP32, count, 4 * (count % 5)), velocity(DType::kFP32, count);
    for (Numbers* numbers : {&anchor, &weights, &velocity}) numbers->FillGaussian(&random);
    kernels.subtract(Data(&anchor), Data(&weights), Data(&d), count);
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(BitsOf(d.Get(i)), BitsOf(anchor.Get(i) - weights.Get(i)));
    }
    Numbers plain = anchor, ahead = anchor, v = velocity;
    kernels.step(Data(&d), Data(&plain), Data(&weights), count, kScale, kRate);
    for (int64_t i = 0; i < count; ++i) {
      const float product = kRate * (kScale * d.Get(i));
      ASSERT_EQ(BitsOf(plain.Get(i)), BitsOf(anchor.Get(i) - product)) << count << " " << i;
      ASSERT_EQ(BitsOf(weights.Get(i)), BitsOf(plain.Get(i)));
    }
    kernels.step_with_momentum(Data(&d), Data(&v), Data(&ahead), Data(&weights), count, kScale,
                               kRate, kMomentum);
    for (int64_t i = 0; i < count; ++i) {
      const float mean = kScale * d.Get(i);
      const float inertia = kMomentum * velocity.Get(i);
      const float next = inertia + mean;
      const float look = kMomentum * next;
      const float product = kRate * (look + mean);
      ASSERT_EQ(BitsOf(v.Get(i)), BitsOf(next)) << count << " " << i;
      ASSERT_EQ(BitsOf(ahead.Get(i)), BitsOf(anchor.Get(i) - product)) << count << " " << i;
      ASSERT_EQ(BitsOf(weights.Get(i)), BitsOf(ahead.Get(i)));
    }
    for (const Numbers* numbers : {&d, &plain, &ahead, &v, &weights}) {
      EXPECT_TRUE(numbers->GuardIntact());
    }
  }
}

GF_ON_EVERY_ISA(OuterKernelsTest);

}  // namespace
}  // namespace gf
