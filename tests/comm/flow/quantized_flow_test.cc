// QUANTIZED over several ranks: what is sent and what is kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "comm/local/communicator.h"
#include "comm/pack/large_weights.h"
#include "comm/quantized/rotation_inline.h"
#include "tests/comm/flow/separate_flow_checks.h"

namespace gf {
namespace {

struct Variant {
  int bits;
  bool rotate;
};
constexpr Variant kVariants[] = {{8, false}, {4, false}, {4, true}};

GradientFlowOptions Options(const Variant& variant) {
  GradientFlowOptions options = FlowOptions(CommConfig::QUANTIZED);
  options.config.mutable_quantized()->set_bits(variant.bits);
  options.config.mutable_quantized()->set_rotate(variant.rotate);
  return options;
}

class QuantizedFlowTest : public testing::TestWithParam<int> {};

class Padded : public DeviceLayout {
 public:
  explicit Padded(int64_t count) : count_(count) {}
  bool Equals(const DeviceLayout&) const override { return false; }
  int64_t StorageCount() const override { return count_; }
  std::string Name() const override { return "padded"; }

 private:
  const int64_t count_;
};

// The third weight has the padding of a blocked layout behind its elements.
PoolLayout PaddedLayout() {
  PoolLayout layout;
  for (const Shape& shape : {Shape{70, 100}, Shape{70}, Shape{16, 16, 5, 5}, Shape{64, 67}}) {
    PoolEntry entry;
    entry.name = "p" + std::to_string(layout.entries().size());
    entry.shape = shape;
    if (shape.rank() == 4) entry.layout = Layout(std::make_shared<Padded>(16 * 32 * 25));
    layout.Add(entry);
  }
  return layout;
}

bool IsPadding(const PoolLayout& layout, int64_t i) {
  for (const PoolEntry& entry : layout.entries()) {
    const int64_t in_entry = i - entry.offset;
    if (in_entry >= entry.shape.count() && in_entry < entry.count) return true;
  }
  return false;
}

// Note [Quantized] in scalars, for all ranks at once.
class Simulation {
 public:
  Simulation(const TestFlow& f, const Variant& variant, int world)
      : layout_(f.layout),
        buckets_(f.flow->Buckets()),
        variant_(variant),
        residuals_(world, Floats(f.layout.count())) {}

  using Floats = std::vector<float>;

  const Floats& residual(int rank) const { return residuals_[rank]; }

  // The sums of the large weights' gradients.
  Floats Step(const std::vector<Floats>& gradients) {
    Floats sums(layout_.count());
    const int world = static_cast<int>(gradients.size());
    for (const Bucket& bucket : buckets_) {
      struct Block {
        int64_t begin, count;
        bool rotated;
      };
      std::vector<Block> blocks;
      for (int e = bucket.first_entry; e <= bucket.last_entry; ++e) {
        const PoolEntry& entry = layout_.entries()[e];
        if (!IsLargeWeight(entry)) continue;
        for (int64_t at = 0; at < entry.count; at += 256) {
          const int64_t count = std::min<int64_t>(256, entry.count - at);
          const bool padded = entry.count != entry.shape.count();
          blocks.push_back({entry.offset + at, count, variant_.rotate && count == 256 && !padded});
        }
      }
      const size_t in_part = (blocks.size() + world - 1) / world;
      for (size_t b = 0; b < blocks.size(); ++b) {
        const auto [begin, count, rotated] = blocks[b];
        Floats total(256), x(256);
        for (int rank = 0; rank < world; ++rank) {
          std::fill(x.begin(), x.end(), 0.f);
          for (int64_t i = 0; i < count; ++i) {
            x[i] = gradients[rank][begin + i] + residuals_[rank][begin + i];
          }
          if (rotated) Rotate(begin, &x);
          const Floats y = Rounded(x);
          for (int i = 0; i < 256; ++i) {
            total[i] += y[i];
            x[i] -= y[i];
          }
          if (rotated) Unrotate(begin, &x);
          for (int64_t i = 0; i < count; ++i) residuals_[rank][begin + i] = Kept(x[i]);
        }
        Floats sum = Rounded(total);
        for (int i = 0; i < 256; ++i) total[i] -= sum[i];
        if (rotated) Unrotate(begin, &total);
        if (rotated) Unrotate(begin, &sum);
        for (int64_t i = 0; i < count; ++i) {
          sums[begin + i] = sum[i];
          float* const h = &residuals_[b / in_part][begin + i];
          *h = Kept(*h + total[i]);
        }
      }
    }
    return sums;
  }

  void Rescale(float factor) {
    for (Floats& residual : residuals_) {
      for (float& h : residual) h *= factor;
    }
  }

 private:
  static float Kept(float x) { return std::abs(x) < kLeastKept ? 0 : x; }

  Floats Rounded(const Floats& x) const {
    const float levels = variant_.bits == 8 ? 127 : 7;
    float largest = 0;
    for (const float value : x) largest = std::max(largest, std::abs(value));
    Floats y(256);
    if (largest < kLeastKept) return y;
    const float inverse = levels / largest, scale = largest / levels;
    for (int i = 0; i < 256; ++i) y[i] = std::nearbyint(x[i] * inverse) * scale;
    return y;
  }

  static void ChangeSigns(int64_t begin, Floats* x) {
    for (int i = 0; i < 256; ++i) {
      if ((RotationSigns(begin, i / 32) >> (i % 32) & 1) != 0) (*x)[i] = -(*x)[i];
    }
  }
  static void Butterflies(Floats* x) {
    for (int step = 1; step < 256; step *= 2) {
      for (int i = 0; i < 256; ++i) {
        if ((i & step) != 0) continue;
        const float low = (*x)[i], high = (*x)[i + step];
        (*x)[i] = low + high;
        (*x)[i + step] = low - high;
      }
    }
    for (float& value : *x) value /= 16;
  }
  static void Rotate(int64_t begin, Floats* x) {
    ChangeSigns(begin, x);
    Butterflies(x);
  }
  static void Unrotate(int64_t begin, Floats* x) {
    Butterflies(x);
    ChangeSigns(begin, x);
  }

  const PoolLayout layout_;
  const std::vector<Bucket> buckets_;
  const Variant variant_;
  std::vector<Floats> residuals_;
};

TEST_P(QuantizedFlowTest, EqualsASimulationInScalars) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const DType dtype : {DType::kFP32, DType::kBF16}) {
      const auto in_pool = [&](float x) { return dtype == DType::kFP32 ? x : FromBF16(ToBF16(x)); };
      for (const Variant& variant : kVariants) {
        TestFlow f(PaddedLayout(), Options(variant), dtype, comm);
        Simulation simulation(f, variant, comm->size());
        const auto change = [&](int64_t i, float g) { return IsPadding(f.layout, i) ? 0 : g; };
        for (int step = 0; step < 3; ++step) {
          std::vector<std::vector<float>> gradients(comm->size());
          for (int rank = 0; rank < comm->size(); ++rank) {
            for (int64_t i = 0; i < f.layout.count(); ++i) {
              gradients[rank].push_back(in_pool(change(i, RandomGradient(step, rank, i))));
            }
          }
          const std::vector<float> sums = simulation.Step(gradients);
          RandomStep(&f, step, comm->rank(), change);
          const float* const h = f.flow->residual().as<float>();
          for (const PoolEntry& entry : f.layout.entries()) {
            if (!IsLargeWeight(entry)) continue;
            for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
              ASSERT_EQ(f.Get(i), in_pool(sums[i])) << "step " << step << ", " << i;
              ASSERT_EQ(h[i], simulation.residual(comm->rank())[i]) << "step " << step << ", " << i;
              if (IsPadding(f.layout, i)) {
                ASSERT_EQ(f.Get(i), 0);
                ASSERT_EQ(h[i], 0);
              }
            }
          }
          if (step != 0) continue;
          f.flow->Rescale(0.25f);
          simulation.Rescale(0.25f);
        }
      }
    }
  });
}

// The sums that came and the residuals of all ranks are the gradients of all steps; what is no
// large weight is summed exactly.
TEST_P(QuantizedFlowTest, WhatIsSentAndWhatIsKeptAreTheGradients) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const Variant& variant : kVariants) {
      TestFlow f(WeightLayout(), Options(variant), DType::kFP32, comm);
      std::vector<double> given(f.layout.count()), sent(given);
      for (int step = 0; step < 10; ++step) {
        for (int64_t i = 0; i < f.layout.count(); ++i) {
          given[i] += RandomGradient(step, comm->rank(), i);
        }
        RandomStep(&f, step, comm->rank());
        for (int64_t i = 0; i < f.layout.count(); ++i) sent[i] += f.Get(i);
        ASSERT_TRUE(SameOnAllRanks(f.gradients, comm)) << "step " << step;
      }
      const float* const h = f.flow->residual().as<float>();
      std::vector<double> kept(h, h + f.layout.count());
      double most = 0;
      for (const double value : kept) most = std::max(most, std::abs(value));
      // Half a step of the codes of this rank, and of those of the sum.
      EXPECT_LT(most, variant.bits == 8 ? 0.01 * (1 + comm->size()) : 0.4 * (1 + comm->size()));
      comm->AllReduce(kept.data(), f.layout.count(), ReduceOp::kSum, "kept");
      comm->AllReduce(given.data(), f.layout.count(), ReduceOp::kSum, "given");
      for (const PoolEntry& entry : f.layout.entries()) {
        for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
          ASSERT_NEAR(sent[i] + kept[i], given[i], 1e-4) << entry.name << " " << i;
          if (!IsLargeWeight(entry)) {
            ASSERT_EQ(kept[i], 0);
          }
        }
      }
    }
  });
}

// A step is near the exact sum: one rounding per direction, however many ranks there are.
TEST_P(QuantizedFlowTest, ASumIsRoundedOncePerDirection) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const Variant& variant : kVariants) {
      TestFlow f(WeightLayout(), Options(variant), DType::kFP32, comm);
      RandomStep(&f, 0, comm->rank());
      const double levels = variant.bits == 8 ? 127 : 7;
      // Half a step of the codes of each rank, and half a step of the sum's; gradients reach from
      // -1 to 1. A rotation spreads errors over the block: their deviation is 0.11 for one rank.
      const double world = comm->size();
      const double bound = variant.rotate ? 0.65 * std::sqrt(world) : 1.01 * world / levels;
      for (const PoolEntry& entry : f.layout.entries()) {
        for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
          double sum = 0;
          for (int r = 0; r < comm->size(); ++r) sum += double{RandomGradient(0, r, i)};
          ASSERT_NEAR(f.Get(i), sum, IsLargeWeight(entry) ? bound : 1e-5) << entry.name << " " << i;
        }
      }
    }
  });
}

TEST_P(QuantizedFlowTest, SendsAFractionOfTheBytes) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    TestFlow bits8(WeightLayout(), Options({8, false}), DType::kFP32, comm);
    TestFlow bits4(WeightLayout(), Options({4, false}), DType::kFP32, comm);
    TestFlow lazy(WeightLayout(), FlowOptions(CommConfig::LAZY), DType::kFP32, comm);
    for (TestFlow* f : {&bits8, &bits4, &lazy}) RandomStep(f, 0, comm->rank());
    if (comm->size() == 1) return;
    const auto all = static_cast<double>(lazy.flow->stats().wire_bytes);
    EXPECT_NEAR(static_cast<double>(bits8.flow->stats().wire_bytes) / all, 0.254, 0.02);
    EXPECT_NEAR(static_cast<double>(bits4.flow->stats().wire_bytes) / all, 0.129, 0.02);
  });
}

TEST_P(QuantizedFlowTest, CoversEveryEntryOnce) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    TestFlow f(WeightLayout(), Options({8, false}), DType::kFP32, comm);
    EXPECT_EQ(CoveredOnce(&f), "");
  });
}

TEST_P(QuantizedFlowTest, GoesOnFromItsStateWithTheSameBits) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    TestFlow whole(WeightLayout(), Options({4, true}), DType::kFP32, comm);
    TestFlow second(WeightLayout(), Options({4, true}), DType::kFP32, comm);
    for (int step = 0; step < 3; ++step) RandomStep(&whole, step, comm->rank());
    whole.flow->Rescale(0.5f);
    const Tensor from = whole.flow->residual(), to = second.flow->residual();
    std::memcpy(to.data, from.data, from.desc.bytes());
    second.flow->Restore({});
    for (int step = 3; step < 6; ++step) {
      RandomStep(&whole, step, comm->rank());
      RandomStep(&second, step, comm->rank());
      ASSERT_EQ(std::memcmp(whole.host.data, second.host.data, whole.host.desc.bytes()), 0);
      ASSERT_EQ(std::memcmp(from.data, to.data, from.desc.bytes()), 0);
    }
  });
}

// All ranks learn of an infinite gradient, nobody keeps it, and later steps are good again.
TEST_P(QuantizedFlowTest, InfiniteGradientsAreSeenAndForgotten) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const Variant& variant : kVariants) {
      TestFlow f(WeightLayout(), Options(variant), DType::kFP32, comm);
      RandomStep(&f, 0, comm->rank());
      f.flow->BeginStep(1);
      if (comm->rank() == 0) f.Set(5, std::numeric_limits<float>::infinity());
      f.flow->Finish([](const std::vector<ElementRange>&) {});
      EXPECT_FALSE(std::isfinite(f.Get(5)));
      for (int step = 2; step < 4; ++step) RandomStep(&f, step, comm->rank());
      for (int64_t i = 0; i < f.layout.count(); ++i) {
        ASSERT_TRUE(std::isfinite(f.Get(i)));
        ASSERT_TRUE(std::isfinite(f.flow->residual().as<float>()[i]));
      }
      EXPECT_TRUE(SameOnAllRanks(f.gradients, comm));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, QuantizedFlowTest, testing::Values(1, 2, 3, 4, 7));

}  // namespace
}  // namespace gf
