// TOPK on every device against its definition, several ranks in one thread.
#include "comm/topk/topk_arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/host_copy.h"
#include "core/random.h"
#include "tests/comm/wire/number_formats.h"
#include "tests/core/test_devices.h"

namespace gf {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  std::string device;
  DType gradient, wire;
  double density;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const std::string& device : TestDevices()) {
    for (const double density : {1e-4, 0.01, 0.3, 1.0}) {
      cases.push_back({device, DType::kFP32, DType::kFP32, density});
    }
    cases.push_back({device, DType::kFP32, DType::kBF16, 0.01});
    cases.push_back({device, DType::kFP32, DType::kFP16, 0.02});
    cases.push_back({device, DType::kBF16, DType::kFP32, 0.01});
    cases.push_back({device, DType::kBF16, DType::kBF16, 0.3});
    if (device != "cpu") cases.push_back({device, DType::kFP16, DType::kFP16, 0.01});
  }
  return cases;
}

// Weights of one segment, of several, and of a piece of one; biases between them.
PoolLayout TestLayout() {
  PoolLayout layout;
  for (const Shape& shape : {Shape{70, 1000}, Shape{70}, Shape{64, 64}, Shape{33}, Shape{1, 65536},
                             Shape{17, 311}, Shape{5}}) {
    PoolEntry entry;
    entry.name = "p" + std::to_string(layout.entries().size());
    entry.shape = shape;
    layout.Add(entry);
  }
  return layout;
}

// Element i of an array in memory of a type.
float LoadNumber(DType type, const void* data, int64_t i) {
  if (type == DType::kFP32) return static_cast<const float*>(data)[i];
  return static_cast<float>(HalfFormat::Of(type).ValueOf(static_cast<const uint16_t*>(data)[i]));
}

void StoreNumber(DType type, void* data, int64_t i, float value) {
  if (type == DType::kFP32) {
    static_cast<float*>(data)[i] = value;
  } else {
    static_cast<uint16_t*>(data)[i] = HalfFormat::Of(type).Nearest(value);
  }
}

class TopkArithmeticTest : public testing::TestWithParam<Case> {
 protected:
  TopkArithmeticTest() : device_(DeviceRegistry::Get().Create("device", GetParam().device, 2)) {
    SetBuckets(GetParam().density);
  }

  void SetBuckets(double density) {
    buckets_ = MakeTopkBuckets(layout_, {{0, 2}, {3, 6}}, density, GetParam().wire);
  }

  Tensor New(int64_t count, DType dtype) const {
    Tensor tensor;
    tensor.desc = {Shape{count}, dtype, Layout()};
    tensor.owner = device_->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    return tensor;
  }

  // A rank: its pools on the device, and the arithmetic's definition beside it.
  struct Rank {
    TopkPools pools;
    std::unique_ptr<TopkArithmetic> arithmetic;
    std::vector<float> u, h;  // as they should be
  };

  Rank NewRank(TopkFactors factors, const Tensor& messages, bool momentum) const {
    Rank rank;
    const int64_t count = layout_.count();
    rank.pools.gradients = New(count, GetParam().gradient);
    rank.pools.residual = New(count, DType::kFP32);
    if (momentum) rank.pools.velocity = New(count, DType::kFP32);
    rank.pools.messages = messages;
    rank.pools.wire = GetParam().wire;
    rank.arithmetic = TopkArithmeticRegistry::Get().Create("device", GetParam().device,
                                                           device_.get(), rank.pools, factors);
    rank.arithmetic->SetBuckets(buckets_);
    rank.u.resize(count);
    rank.h.resize(count);
    return rank;
  }

  Tensor NewMessages(int world) const {
    int64_t words = 0;
    for (const TopkBucket& b : buckets_) words += b.Words(GetParam().wire);
    return New(words * world, DType::kFP32);
  }

  // Rounded to the gradients' type.
  void SetGradients(Rank* rank, std::vector<float>* g) const {
    HostCopy copy(device_.get(), rank->pools.gradients);
    for (size_t i = 0; i < g->size(); ++i) {
      StoreNumber(GetParam().gradient, copy.tensor().data, i, (*g)[i]);
      (*g)[i] = LoadNumber(GetParam().gradient, copy.tensor().data, i);
    }
    copy.Put();
  }

  std::vector<float> Values(const Tensor& tensor) const {
    const HostCopy copy(device_.get(), tensor);
    std::vector<float> values(tensor.desc.storage_count());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = LoadNumber(tensor.desc.dtype, copy.tensor().data, i);
    }
    return values;
  }

  // Note [Top-k] on one entry; adds what is sent to `sums`, rounded to the gradients' type.
  void Define(const TopkEntry& entry, const std::vector<float>& g, const TopkFactors& f,
              bool momentum, Rank* rank, std::vector<float>* sums) const {
    for (int64_t i = entry.begin; i < entry.begin + entry.count; ++i) {
      volatile float entering = g[i];
      if (momentum) {
        volatile const float kept = f.momentum * rank->u[i];
        entering = kept + g[i];
        rank->u[i] = entering;
        if (f.nesterov) {
          volatile const float ahead = f.momentum * rank->u[i];
          entering = ahead + g[i];
        }
      }
      rank->h[i] += entering;
    }
    std::vector<int64_t> order(entry.count);
    std::iota(order.begin(), order.end(), entry.begin);
    const auto key = [&](int64_t i) { return BitsOf(rank->h[i]) & 0x7fffffffu; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return key(a) > key(b); });
    for (int64_t k = 0; k < entry.chosen; ++k) {
      const int64_t i = order[k];
      const float sent = Rounded(GetParam().wire, rank->h[i]);
      (*sums)[i] = Rounded(GetParam().gradient, (*sums)[i] + sent);
      rank->h[i] = std::isfinite(sent) ? rank->h[i] - sent : 0;
      if (f.masking || !std::isfinite(rank->u[i])) rank->u[i] = 0;
    }
    for (int64_t i = entry.begin; i < entry.begin + entry.count; ++i) {
      if (!std::isfinite(rank->h[i])) rank->h[i] = rank->u[i] = 0;
    }
  }

  void ExpectBits(const std::vector<float>& expected, const std::vector<float>& actual,
                  const char* what) const {
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      if (std::isnan(expected[i]) && std::isnan(actual[i])) continue;
      ASSERT_EQ(BitsOf(expected[i]), BitsOf(actual[i])) << what << " " << i;
    }
  }

  const PoolLayout layout_ = TestLayout();
  const std::unique_ptr<Device> device_;
  std::vector<TopkBucket> buckets_;
};

TEST_P(TopkArithmeticTest, EqualsItsDefinitionBitForBit) {
  constexpr int kWorld = 2, kSteps = 3;
  for (const auto& [momentum, nesterov, masking] :
       {std::tuple(true, false, true), {true, true, false}, {false, false, true}}) {
    TopkFactors f;
    f.momentum = momentum ? 0.9f : 0;
    f.nesterov = nesterov;
    f.masking = masking;
    f.world = kWorld;
    const Tensor messages = NewMessages(kWorld);
    std::vector<Rank> ranks;
    for (f.rank = 0; f.rank < kWorld; ++f.rank) ranks.push_back(NewRank(f, messages, momentum));
    Random random(3, 3);
    for (int step = 0; step < kSteps; ++step) {
      std::vector<float> sums(layout_.count());
      for (Rank& rank : ranks) {
        std::vector<float> g(layout_.count());
        for (const PoolEntry& entry : layout_.entries()) {
          for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
            // Few different values: many are equal.
            g[i] = std::round(16 * random.Gaussian()) / 16;
          }
        }
        if (step == 1) g[5] = kInfinity;
        SetGradients(&rank, &g);
        for (size_t b = 0; b < buckets_.size(); ++b) {
          rank.arithmetic->Send(static_cast<int>(b));
          for (const TopkEntry& entry : buckets_[b].entries) {
            Define(entry, g, f, momentum, &rank, &sums);
          }
        }
        ExpectBits(rank.h, Values(rank.pools.residual), "residual");
        if (momentum) ExpectBits(rank.u, Values(rank.pools.velocity), "velocity");
      }
      for (Rank& rank : ranks) {
        for (size_t b = 0; b < buckets_.size(); ++b) rank.arithmetic->Receive(static_cast<int>(b));
        const std::vector<float> received = Values(rank.pools.gradients);
        for (const TopkBucket& bucket : buckets_) {
          for (const TopkEntry& e : bucket.entries) {
            const auto part = [&](const std::vector<float>& v) {
              return std::vector<float>(v.begin() + e.begin, v.begin() + e.begin + e.count);
            };
            ExpectBits(part(sums), part(received), "sum");
          }
        }
      }
    }
  }
}

// More than travel: the rest must not stay.
TEST_P(TopkArithmeticTest, NothingInfiniteStays) {
  TopkFactors f;
  f.momentum = 0.9f;
  f.masking = false;
  Rank rank = NewRank(f, NewMessages(1), true);
  std::vector<float> g(layout_.count());
  for (const TopkBucket& bucket : buckets_) {
    for (const TopkEntry& e : bucket.entries) std::fill_n(g.begin() + e.begin, e.count, kInfinity);
  }
  g[0] = std::numeric_limits<float>::quiet_NaN();
  SetGradients(&rank, &g);
  for (size_t b = 0; b < buckets_.size(); ++b) rank.arithmetic->Send(static_cast<int>(b));
  for (size_t b = 0; b < buckets_.size(); ++b) rank.arithmetic->Receive(static_cast<int>(b));
  EXPECT_TRUE(std::isnan(Values(rank.pools.gradients)[0]));
  for (const Tensor& pool : {rank.pools.residual, rank.pools.velocity}) {
    for (const float value : Values(pool)) ASSERT_EQ(value, 0);
  }
}

TEST_P(TopkArithmeticTest, ClipsTensorsThatAreLongerThanTheLimit) {
  if (GetParam().gradient != DType::kFP32) return;
  TopkFactors f;
  f.clip = 3;
  Rank rank = NewRank(f, NewMessages(1), false);
  rank.arithmetic->Rescale(2);  // as the loss would be: the limit is 6
  std::vector<float> g(layout_.count());
  const PoolEntry &longer = layout_.entries()[0], &shorter = layout_.entries()[2];
  std::fill_n(g.begin() + longer.offset, longer.count, 1.f);
  std::fill_n(g.begin() + shorter.offset, shorter.count, 0.01f);
  SetGradients(&rank, &g);
  rank.arithmetic->Send(0);
  rank.arithmetic->Receive(0);
  const std::vector<float> sent = Values(rank.pools.gradients), h = Values(rank.pools.residual);
  for (int64_t i = longer.offset; i < longer.offset + longer.count; ++i) {
    ASSERT_NEAR(sent[i] + h[i], 6 / std::sqrt(70000.0), 1e-6);
  }
  for (int64_t i = shorter.offset; i < shorter.offset + shorter.count; ++i) {
    ASSERT_EQ(sent[i] + h[i], 0.01f);
  }
}

TEST_P(TopkArithmeticTest, SendsAllAndKeepsTheVelocity) {
  TopkFactors f;
  f.momentum = 0.5f;
  Rank rank = NewRank(f, NewMessages(1), true);
  std::vector<ElementRange> ranges;
  std::vector<float> h(layout_.count()), u(layout_.count()), expected(layout_.count());
  Random random(5, 5);
  for (int step = 0; step < 3; ++step) {
    std::vector<float> g(layout_.count());
    for (float& value : g) value = random.Gaussian();
    SetGradients(&rank, &g);
    ranges.clear();
    for (const int e : {0, 2}) {
      const PoolEntry& entry = layout_.entries()[e];
      ranges.push_back({entry.offset, entry.offset + entry.count});
    }
    rank.arithmetic->SendAll(ranges);
    expected = g;
    for (const ElementRange& range : ranges) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        u[i] = 0.5f * u[i] + g[i];
        const float v = h[i] + u[i];
        expected[i] = Rounded(GetParam().gradient, v);
        h[i] = v - expected[i];
      }
    }
    ExpectBits(expected, Values(rank.pools.gradients), "sent");
    ExpectBits(h, Values(rank.pools.residual), "residual");
    ExpectBits(u, Values(rank.pools.velocity), "velocity");
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, TopkArithmeticTest, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return info.param.device + "_" + Name(info.param.gradient) + "_" +
                                  Name(info.param.wire) + "_" +
                                  std::to_string(static_cast<int>(info.param.density * 1e4));
                         });

}  // namespace
}  // namespace gf
