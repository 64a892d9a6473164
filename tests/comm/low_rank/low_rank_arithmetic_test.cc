// LOW_RANK on every device against its definition in double.
#include "comm/low_rank/low_rank_arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/host_copy.h"
#include "core/random.h"
#include "tests/core/test_devices.h"

namespace gf {
namespace {

using Doubles = std::vector<double>;

class LowRankArithmeticTest : public testing::TestWithParam<std::string> {
 protected:
  LowRankArithmeticTest() : device_(DeviceRegistry::Get().Create("device", GetParam(), 2)) {
    for (const Shape& shape : {Shape{70, 1000}, Shape{70}, Shape{64, 9, 5, 5}}) {
      PoolEntry entry;
      entry.name = "p" + std::to_string(layout_.entries().size());
      entry.shape = shape;
      layout_.Add(entry);
    }
  }

  Tensor New(int64_t count) const {
    Tensor tensor;
    tensor.desc = {Shape{count}, DType::kFP32, Layout()};
    tensor.owner = device_->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    return tensor;
  }

  void Start(int rank) {
    plan_ = PlanLowRank(layout_, {{0, 2}}, rank);
    ASSERT_EQ(plan_.matrices.size(), 2u);
    pools_ = {New(layout_.count()), New(layout_.count()), New(plan_.left_count),
              New(plan_.right_count)};
    arithmetic_ = LowRankArithmeticRegistry::Get().Create("device", GetParam(), device_.get(),
                                                          pools_, plan_.matrices);
  }

  template <typename Value>
  void Fill(const Tensor& tensor, const Value& value) const {
    HostCopy copy(device_.get(), tensor);
    for (int64_t i = 0; i < tensor.desc.storage_count(); ++i) {
      copy.tensor().as<float>()[i] = value(i);
    }
    copy.Put();
  }

  Doubles Values(const Tensor& tensor, int64_t begin, int64_t count) const {
    const HostCopy copy(device_.get(), tensor);
    const float* const values = copy.tensor().as<float>() + begin;
    return {values, values + count};
  }
  Doubles Left(const LowRankMatrix& m) const {
    return Values(pools_.left, m.left, m.rank * m.rows);
  }
  Doubles Right(const LowRankMatrix& m) const {
    return Values(pools_.right, m.right, m.rank * m.columns);
  }
  Doubles OfEntry(const Tensor& pool, const LowRankMatrix& m) const {
    return Values(pool, m.entry->offset, m.entry->count);
  }

  static void ExpectNear(const Doubles& actual, const Doubles& expected, double tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance) << i;
  }

  PoolLayout layout_;
  const std::unique_ptr<Device> device_;
  LowRankPlan plan_;
  LowRankPools pools_;
  std::unique_ptr<LowRankArithmetic> arithmetic_;
};

TEST_P(LowRankArithmeticTest, EachPhaseIsItsDefinition) {
  for (const int rank : {1, 4, 6}) {
    Start(rank);
    Random random(1, 5);
    Fill(pools_.gradients, [&](int64_t) { return random.Gaussian(); });
    Fill(pools_.residual, [&](int64_t) { return random.Gaussian(); });
    arithmetic_->Prepare(7);
    for (int index = 0; index < 2; ++index) {
      const LowRankMatrix& m = plan_.matrices[index];
      const int64_t rows = m.rows, columns = m.columns;
      // Zeros became random columns of no particular norm.
      const Doubles start = Right(m);
      EXPECT_GT(*std::max_element(start.begin(), start.end()), 0.9);
      EXPECT_LT(*std::min_element(start.begin(), start.end()), -0.9);
      const Doubles g = OfEntry(pools_.gradients, m), h = OfEntry(pools_.residual, m);
      Doubles sum(g);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += h[i];

      arithmetic_->Project(index);
      Doubles projected(rank * rows);
      for (int k = 0; k < rank; ++k) {
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) {
            projected[k * rows + i] += sum[i * columns + j] * start[k * columns + j];
          }
        }
      }
      ExpectNear(Left(m), projected, 1e-3);
      ExpectNear(OfEntry(pools_.residual, m), sum, 1e-6);

      arithmetic_->Orthonormalize(index);
      const Doubles left = Left(m);
      for (int a = 0; a < rank; ++a) {
        for (int b = 0; b <= a; ++b) {
          double dot = 0, along = 0;
          for (int64_t i = 0; i < rows; ++i) {
            dot += left[a * rows + i] * left[b * rows + i];
            along += left[a * rows + i] * projected[b * rows + i];
          }
          EXPECT_NEAR(dot, a == b, 1e-6);
          // Column b has no part along later ones, and a positive one along its own.
          if (a == b) {
            EXPECT_GT(along, 0);
          } else {
            EXPECT_NEAR(along, 0, 1e-3);
          }
        }
      }

      arithmetic_->Correlate(index);
      Doubles correlated(rank * columns), product(sum.size()), rest(sum);
      for (int k = 0; k < rank; ++k) {
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) {
            correlated[k * columns + j] += sum[i * columns + j] * left[k * rows + i];
          }
        }
      }
      ExpectNear(Right(m), correlated, 1e-4);
      for (int k = 0; k < rank; ++k) {
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) {
            product[i * columns + j] += left[k * rows + i] * correlated[k * columns + j];
          }
        }
      }
      for (size_t i = 0; i < rest.size(); ++i) rest[i] -= product[i];
      arithmetic_->Settle();
      ExpectNear(OfEntry(pools_.residual, m), rest, 1e-4);

      arithmetic_->Expand(index);
      ExpectNear(OfEntry(pools_.gradients, m), product, 1e-4);
    }
    // What is no matrix stays as it was.
    const PoolEntry& bias = layout_.entries()[1];
    for (const double value : Values(pools_.gradients, bias.offset, bias.count)) {
      EXPECT_NE(value, 0);
    }
    // The next step's columns have norm 1.
    arithmetic_->Prepare(8);
    const LowRankMatrix& m = plan_.matrices[1];
    const Doubles right = Right(m);
    for (int k = 0; k < rank; ++k) {
      double squares = 0;
      for (int64_t j = 0; j < m.columns; ++j) {
        squares += right[k * m.columns + j] * right[k * m.columns + j];
      }
      EXPECT_NEAR(squares, 1, 1e-6);
    }
  }
}

TEST_P(LowRankArithmeticTest, DependentColumnsBecomeZeroAndStartAnew) {
  Start(3);
  // Rank 1: the second and third columns depend on the first.
  const int64_t columns = plan_.matrices[0].columns;
  Fill(pools_.gradients, [&](int64_t i) {
    return static_cast<float>(std::sin(static_cast<double>(i / columns + 1)) *
                              std::cos(static_cast<double>(i % columns)));
  });
  arithmetic_->Prepare(0);
  arithmetic_->Project(0);
  arithmetic_->Orthonormalize(0);
  arithmetic_->Correlate(0);
  const LowRankMatrix& m = plan_.matrices[0];
  const Doubles left = Left(m), right = Right(m);
  for (int64_t i = m.rows; i < 3 * m.rows; ++i) ASSERT_EQ(left[i], 0);
  for (int64_t j = m.columns; j < 3 * m.columns; ++j) ASSERT_EQ(right[j], 0);
  arithmetic_->Settle();
  for (const double value : OfEntry(pools_.residual, m)) ASSERT_NEAR(value, 0, 1e-5);
  arithmetic_->Prepare(1);
  const Doubles next = Right(m);
  EXPECT_NE(next[m.columns], 0);
  EXPECT_NE(next[m.columns], next[2 * m.columns]);
}

TEST_P(LowRankArithmeticTest, NothingInfiniteStays) {
  Start(2);
  Fill(pools_.gradients,
       [](int64_t i) { return i == 77 ? std::numeric_limits<float>::infinity() : 1.f; });
  arithmetic_->Prepare(0);
  const LowRankMatrix& m = plan_.matrices[0];
  const Doubles start = Right(m);
  arithmetic_->Project(0);
  arithmetic_->Orthonormalize(0);
  arithmetic_->Correlate(0);
  ASSERT_EQ(Right(m), start);
  const Doubles kept = OfEntry(pools_.residual, m);
  for (size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(kept[i], i == 77 ? 0 : 1);
  arithmetic_->Expand(0);
  for (const double value : OfEntry(pools_.gradients, m)) ASSERT_TRUE(std::isnan(value));
}

TEST_P(LowRankArithmeticTest, MergesAndRescales) {
  Start(2);
  Fill(pools_.gradients, [](int64_t i) { return static_cast<float>(i % 5); });
  Fill(pools_.residual, [](int64_t i) { return static_cast<float>(i % 7); });
  arithmetic_->Rescale(0.5f);
  arithmetic_->Merge(1);
  const LowRankMatrix& m = plan_.matrices[1];
  const Doubles g = OfEntry(pools_.gradients, m), h = OfEntry(pools_.residual, m);
  for (int64_t i = 0; i < m.entry->count; ++i) {
    const int64_t at = m.entry->offset + i;
    ASSERT_EQ(g[i], static_cast<double>(at % 5) + 0.5 * static_cast<double>(at % 7));
    ASSERT_EQ(h[i], 0);
  }
}

TEST_P(LowRankArithmeticTest, MergesAndRescalesWhatAStepHasKept) {
  Start(2);
  const LowRankMatrix m = plan_.matrices[1];  // A copy: each Start() plans anew.
  const auto step = [&] {
    Random random(3, 5);
    Fill(pools_.gradients, [&](int64_t) { return random.Gaussian(); });
    Fill(pools_.residual, [](int64_t) { return 0.f; });
    arithmetic_->Prepare(0);
    arithmetic_->Project(1);
    arithmetic_->Orthonormalize(1);
    arithmetic_->Correlate(1);
  };
  step();
  arithmetic_->Settle();
  const Doubles kept = OfEntry(pools_.residual, m);

  Start(2);
  step();
  arithmetic_->Rescale(0.5f);
  Doubles half = kept;
  for (double& value : half) value *= 0.5;
  ExpectNear(OfEntry(pools_.residual, m), half, 1e-6);

  Start(2);
  step();
  const Doubles g = OfEntry(pools_.gradients, m);
  arithmetic_->Merge(1);
  Doubles sum = kept;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += g[i];
  ExpectNear(OfEntry(pools_.gradients, m), sum, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Devices, LowRankArithmeticTest, testing::ValuesIn(TestDevices()));

}  // namespace
}  // namespace gf
