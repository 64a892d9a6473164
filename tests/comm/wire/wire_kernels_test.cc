#include "comm/wire/wire_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "comm/wire/wire.h"
#include "tests/comm/wire/isa_test.h"
#include "tests/comm/wire/number_formats.h"

namespace gf {
namespace {

struct Pair {
  DType own, wire;
  WireFunctions WireKernels::*functions;
};

const Pair kPairs[] = {
    {DType::kFP32, DType::kFP32, &WireKernels::fp32_fp32},
    {DType::kFP32, DType::kBF16, &WireKernels::fp32_bf16},
    {DType::kFP32, DType::kFP16, &WireKernels::fp32_fp16},
    {DType::kBF16, DType::kFP32, &WireKernels::bf16_fp32},
    {DType::kBF16, DType::kBF16, &WireKernels::bf16_bf16},
    {DType::kBF16, DType::kFP16, &WireKernels::bf16_fp16},
};

class WireKernelsTest : public IsaTest {
 protected:
  static const WireKernels& kernels() { return Choose(Wires_baseline, Wires_avx2, Wires_avx512); }
};

TEST_P(WireKernelsTest, EveryHalfPatternDecodesToItsValue) {
  for (const Pair& pair : kPairs) {
    if (pair.wire == DType::kFP32) continue;
    Numbers wire(pair.wire, 65536), own(pair.own, 65536);
    for (int i = 0; i < 65536; ++i) wire.SetBits(i, i);
    (kernels().*pair.functions).decode(wire.data(), own.data(), 65536);
    for (int i = 0; i < 65536; ++i) {
      const float expected = Rounded(pair.own, wire.Get(i));
      ASSERT_TRUE(SameNumber(own.Get(i), expected))
          << Name(pair.own) << " " << Name(pair.wire) << " " << std::hex << i << std::dec << ": "
          << own.Get(i) << " expected " << expected;
    }
  }
}

// Every number of the wire type, what lies half way to the next, and FP32's neighbours of both.
TEST_P(WireKernelsTest, EncodeRoundsToNearestEven) {
  for (const Pair& pair : kPairs) {
    if (pair.wire == DType::kFP32) continue;
    const HalfFormat& format = HalfFormat::Of(pair.wire);
    std::vector<float> values;
    for (int pattern = 0; pattern < 65536; ++pattern) {
      const double here = format.ValueOf(static_cast<uint16_t>(pattern));
      const double next = format.ValueOf(static_cast<uint16_t>(pattern + 1));
      const auto middle = static_cast<float>((here + next) / 2);
      for (const float value : {static_cast<float>(here), middle}) {
        const float inf = std::numeric_limits<float>::infinity();
        values.insert(values.end(),
                      {value, std::nextafter(value, inf), std::nextafter(value, -inf)});
      }
    }
    const int64_t count = static_cast<int64_t>(values.size());
    Numbers own(pair.own, count), wire(pair.wire, count);
    for (int64_t i = 0; i < count; ++i) own.Set(i, values[i]);
    const Numbers before = own;
    (kernels().*pair.functions).encode(own.data(), wire.data(), count);
    for (int64_t i = 0; i < count; ++i) {
      const float expected = Rounded(pair.wire, before.Get(i));
      ASSERT_TRUE(SameNumber(wire.Get(i), expected))
          << Name(pair.own) << " " << Name(pair.wire) << " " << before.Get(i) << ": " << wire.Get(i)
          << " expected " << expected;
    }
  }
}

TEST_P(WireKernelsTest, RandomBitsAreRoundedToNearestEvenAndNaNStays) {
  constexpr int64_t kCount = 200001;
  Random random(1, 2);
  for (const Pair& pair : kPairs) {
    Numbers own(pair.own, kCount), wire(pair.wire, kCount);
    for (int64_t i = 0; i < kCount; ++i) own.SetBits(i, random.Next());
    const Numbers before = own;
    (kernels().*pair.functions).encode(own.data(), wire.data(), kCount);
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(SameNumber(wire.Get(i), Rounded(pair.wire, before.Get(i)))) << before.Get(i);
    }
  }
}

TEST_P(WireKernelsTest, EncodeLeavesTheSenderWithTheReceiversBits) {
  constexpr int64_t kCount = 65536 + 3;
  Random random(1, 3);
  for (const Pair& pair : kPairs) {
    Numbers own(pair.own, kCount), wire(pair.wire, kCount), received(pair.own, kCount);
    for (int64_t i = 0; i < kCount; ++i) own.SetBits(i, i < 65536 ? i * 65537 : random.Next());
    const WireFunctions& functions = kernels().*pair.functions;
    functions.encode(own.data(), wire.data(), kCount);
    functions.decode(wire.data(), received.data(), kCount);
    EXPECT_EQ(own, received) << Name(pair.own) << " " << Name(pair.wire);
  }
}

TEST_P(WireKernelsTest, AddSumsInFP32AndRoundsOnce) {
  constexpr int64_t kCount = 100003;
  Random random(1, 4);
  for (const Pair& pair : kPairs) {
    Numbers own(pair.own, kCount), wire(pair.wire, kCount);
    own.FillGaussian(&random);
    wire.FillGaussian(&random, 100);
    const Numbers before = own;
    (kernels().*pair.functions).add(wire.data(), own.data(), kCount);
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(SameNumber(own.Get(i), Rounded(pair.own, before.Get(i) + wire.Get(i)))) << i;
    }
  }
}

TEST_P(WireKernelsTest, EveryLengthAndAlignmentTouchesItsElementsOnly) {
  Random random(1, 5);
  for (const Pair& pair : kPairs) {
    const WireFunctions& functions = kernels().*pair.functions;
    for (int64_t count = 0; count < 70; ++count) {
      const int64_t shift = count % 5;
      Numbers own(pair.own, count, shift), wire(pair.wire, count, 3 - shift / 2);
      Numbers sum(pair.own, count, shift), received(pair.own, count, shift);
      own.FillGaussian(&random);
      functions.encode(own.data(), wire.data(), count);
      functions.decode(wire.data(), received.data(), count);
      functions.add(wire.data(), sum.data(), count);
      functions.add(wire.data(), sum.data(), count);
      EXPECT_EQ(own, received) << count;
      for (int64_t i = 0; i < count; ++i) EXPECT_EQ(sum.Get(i), 2 * own.Get(i)) << count;
      EXPECT_TRUE(own.GuardIntact() && wire.GuardIntact() && sum.GuardIntact() &&
                  received.GuardIntact())
          << count;
    }
  }
}

TEST_P(WireKernelsTest, IntegersAreExact) {
  for (const Pair& pair : kPairs) {
    const WireFunctions& functions = kernels().*pair.functions;
    Numbers own(pair.own, 257), wire(pair.wire, 257);
    for (int i = 0; i < 257; ++i) own.Set(i, static_cast<float>(i - 128));
    functions.encode(own.data(), wire.data(), 257);
    for (int i = 0; i < 257; ++i) wire.Set(i, static_cast<float>(128 - i % 4));
    functions.add(wire.data(), own.data(), 257);
    for (int i = 0; i < 257; ++i) EXPECT_EQ(own.Get(i), static_cast<float>(i - i % 4));
  }
}

TEST_P(WireKernelsTest, InfinityAndNaNSurviveAddition) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Pair& pair : kPairs) {
    // Long enough for whole vectors and a tail.
    Numbers own(pair.own, 37), wire(pair.wire, 37);
    for (int i = 0; i < 37; ++i) {
      own.Set(i, i % 3 == 0 ? inf : 1);
      wire.Set(i, i % 3 == 1 ? NAN : -inf);
    }
    (kernels().*pair.functions).add(wire.data(), own.data(), 37);
    for (int i = 0; i < 37; ++i) {
      EXPECT_TRUE(i % 3 == 2 ? own.Get(i) == -inf : std::isnan(own.Get(i))) << i;
    }
  }
}

GF_ON_EVERY_ISA(WireKernelsTest);

TEST(WireForTest, FindsTheFunctionsOfEveryPair) {
  for (const Pair& pair : kPairs) {
    EXPECT_EQ(&WireFor(pair.own, pair.wire), &(Wires().*pair.functions));
  }
}

}  // namespace
}  // namespace gf
