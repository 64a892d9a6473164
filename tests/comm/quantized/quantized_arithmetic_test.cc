// QUANTIZED on every device against its definition.
#include "comm/quantized/quantized_arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/host_copy.h"
#include "core/random.h"
#include "tests/comm/wire/number_formats.h"
#include "tests/core/test_devices.h"

namespace gf {
namespace {

using Floats = std::vector<float>;

class Padded : public DeviceLayout {
 public:
  explicit Padded(int64_t count) : count_(count) {}
  bool Equals(const DeviceLayout&) const override { return false; }
  int64_t StorageCount() const override { return count_; }
  std::string Name() const override { return "padded"; }

 private:
  const int64_t count_;
};

// A case: device, bits, rotation, the number of ranks, and the gradients' type.
using Case = std::tuple<std::string, int, bool, int, DType>;

// What a rank has.
struct Rank {
  Floats gradients, residual, messages;
};

// Ranks on one device after each other, and their messages carried by hand.
class Ranks {
 public:
  Ranks(const std::string& device, const PoolLayout& layout, const QuantizedOptions& options,
        DType type)
      : device_(DeviceRegistry::Get().Create("device", device, 2)),
        options_(options),
        count_(layout.count()),
        buckets_(MakeQuantizedBuckets(layout, {{0, 1}, {2, 3}}, options.bits, options.world)) {
    for (const QuantizedBucket& bucket : buckets_) words_ += 2 * options.world * bucket.part_words;
    for (int r = 0; r < options.world; ++r) {
      options_.rank = r;
      pools_.push_back({New(count_, type), New(count_, DType::kFP32), New(words_, DType::kFP32)});
      arithmetic_.push_back(QuantizedArithmeticRegistry::Get().Create(
          "device", device, device_.get(), pools_.back(), buckets_, options_));
    }
  }

  const std::vector<QuantizedBucket>& buckets() const { return buckets_; }

  void Step(const std::vector<Floats>& gradients) {
    for (int r = 0; r < options_.world; ++r) Put(pools_[r].gradients, gradients[r]);
    for (size_t b = 0; b < buckets_.size(); ++b) {
      for (auto& rank : arithmetic_) rank->Encode(static_cast<int>(b));
      Carry(buckets_[b], static_cast<int>(b));
      for (auto& rank : arithmetic_) rank->Decode(static_cast<int>(b));
    }
  }

  Rank Get(int r) const {
    return {Read(pools_[r].gradients), Read(pools_[r].residual), Read(pools_[r].messages)};
  }
  void Rescale(float factor) {
    for (auto& rank : arithmetic_) rank->Rescale(factor);
  }

 private:
  Tensor New(int64_t count, DType type) const {
    Tensor tensor;
    tensor.desc = {Shape{count}, type, Layout()};
    tensor.owner = device_->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    return tensor;
  }
  void Put(const Tensor& tensor, const Floats& values) const {
    HostCopy copy(device_.get(), tensor);
    void* const data = copy.tensor().data;
    if (tensor.desc.dtype == DType::kFP32) {
      std::memcpy(data, values.data(), values.size() * sizeof(float));
    } else {
      const HalfFormat& format = HalfFormat::Of(tensor.desc.dtype);
      for (size_t i = 0; i < values.size(); ++i) {
        static_cast<uint16_t*>(data)[i] = format.Nearest(values[i]);
      }
    }
    copy.Put();
  }
  Floats Read(const Tensor& tensor) const {
    const HostCopy copy(device_.get(), tensor);
    const int64_t count = tensor.desc.storage_count();
    Floats values(count);
    if (tensor.desc.dtype == DType::kFP32) {
      std::memcpy(values.data(), copy.tensor().data, count * sizeof(float));
    } else {
      const HalfFormat& format = HalfFormat::Of(tensor.desc.dtype);
      for (int64_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(format.ValueOf(copy.tensor().as<uint16_t>()[i]));
      }
    }
    return values;
  }

  // The collective: parts to their ranks, the sums where the messages lie, and back to all.
  void Carry(const QuantizedBucket& bucket, int b) {
    const int world = options_.world;
    const int64_t at = bucket.words_before, words = bucket.part_words;
    std::vector<Floats> memory;
    for (const QuantizedPools& pools : pools_) memory.push_back(Read(pools.messages));
    const auto part = [&](int rank, int64_t p) { return &memory[rank][at + p * words]; };
    const auto copy = [&](const float* from, float* to) {
      std::memcpy(to, from, words * sizeof(float));
    };
    for (int from = 0; from < world; ++from) {
      for (int to = 0; to < world; ++to) {
        if (from != to) copy(part(from, to), part(to, world + from));
      }
    }
    for (int r = 0; r < world; ++r) {
      const auto sum = arithmetic_[r]->SumOf(b);
      Floats on_host = memory[r];
      sum->OnHost(on_host.data() + at);
      if (!device_->shares_host_memory()) {
        Put(pools_[r].messages, memory[r]);
        sum->OnDevice(pools_[r].messages.as<float>() + at, device_->compute_stream());
        memory[r] = Read(pools_[r].messages);
        ASSERT_EQ(std::memcmp(memory[r].data(), on_host.data(), words_ * sizeof(float)), 0);
      }
      memory[r] = on_host;
    }
    for (int from = 0; from < world; ++from) {
      for (int to = 0; to < world; ++to) {
        if (from != to) copy(part(from, from), part(to, from));
      }
    }
    for (int r = 0; r < world; ++r) Put(pools_[r].messages, memory[r]);
  }

  const std::unique_ptr<Device> device_;
  QuantizedOptions options_;
  const int64_t count_;
  const std::vector<QuantizedBucket> buckets_;
  int64_t words_ = 0;
  std::vector<QuantizedPools> pools_;
  std::vector<std::unique_ptr<QuantizedArithmetic>> arithmetic_;
};

class QuantizedArithmeticTest : public testing::TestWithParam<Case> {
 protected:
  QuantizedArithmeticTest() {
    for (const Shape& shape : {Shape{70, 100}, Shape{33}, Shape{16, 16, 3, 6}, Shape{64, 67}}) {
      PoolEntry entry;
      entry.name = "p" + std::to_string(layout_.entries().size());
      entry.shape = shape;
      // With the padding of a blocked layout.
      if (shape.rank() == 4) entry.layout = Layout(std::make_shared<Padded>(16 * 32 * 18));
      layout_.Add(entry);
    }
    options_.bits = std::get<1>(GetParam());
    options_.rotate = std::get<2>(GetParam());
    options_.world = std::get<3>(GetParam());
  }

  const std::string& device() const { return std::get<0>(GetParam()); }
  DType type() const { return std::get<4>(GetParam()); }

  // Gradients of all ranks; 0 where the layout has padding or gaps.
  std::vector<Floats> Gradients(uint64_t seed) const {
    std::vector<Floats> all;
    for (int r = 0; r < options_.world; ++r) {
      Random random(seed, static_cast<uint64_t>(r));
      Floats g(layout_.count());
      for (const PoolEntry& entry : layout_.entries()) {
        for (int64_t i = 0; i < entry.shape.count(); ++i) {
          g[entry.offset + i] = Rounded(type(), random.Gaussian());
        }
      }
      all.push_back(g);
    }
    return all;
  }

  PoolLayout layout_;
  QuantizedOptions options_;
};

TEST_P(QuantizedArithmeticTest, SentAndKeptAreTheGradients) {
  if (type() != DType::kFP32) return;  // gradients are rounded at the end
  Ranks ranks(device(), layout_, options_, type());
  std::vector<double> given(layout_.count()), sent(given);
  for (int step = 0; step < 4; ++step) {
    const std::vector<Floats> gradients = Gradients(step);
    for (const Floats& g : gradients) {
      for (size_t i = 0; i < g.size(); ++i) given[i] += g[i];
    }
    ranks.Step(gradients);
    const Rank first = ranks.Get(0);
    for (size_t i = 0; i < given.size(); ++i) sent[i] += first.gradients[i];
    for (int r = 1; r < options_.world; ++r) {
      const Floats other = ranks.Get(r).gradients;
      for (const QuantizedBucket& bucket : ranks.buckets()) {
        for (const ElementRange& t : bucket.tensors) {
          ASSERT_EQ(std::memcmp(&other[t.begin], &first.gradients[t.begin],
                                (t.end - t.begin) * sizeof(float)),
                    0)
              << "rank " << r << ", step " << step;
        }
      }
    }
  }
  std::vector<double> kept(layout_.count());
  double most = 0;
  for (int r = 0; r < options_.world; ++r) {
    const Floats residual = ranks.Get(r).residual;
    for (size_t i = 0; i < kept.size(); ++i) kept[i] += residual[i];
    for (const float h : residual) most = std::max(most, std::abs(double{h}));
  }
  for (const QuantizedBucket& bucket : ranks.buckets()) {
    for (const ElementRange& t : bucket.tensors) {
      for (int64_t i = t.begin; i < t.end; ++i) ASSERT_NEAR(sent[i] + kept[i], given[i], 1e-4) << i;
    }
  }
  EXPECT_GT(most, options_.bits == 8 ? 0.005 : 0.1);
  EXPECT_LT(most, options_.bits == 8 ? 0.3 : 6);
  // The padding of a layout stays 0.
  const PoolEntry& padded = layout_.entries()[2];
  const Rank rank = ranks.Get(options_.world - 1);
  for (int64_t i = padded.shape.count(); i < padded.count; ++i) {
    ASSERT_EQ(rank.gradients[padded.offset + i], 0);
    ASSERT_EQ(rank.residual[padded.offset + i], 0);
  }
}

// Those that the processor makes of FP32; gradients of other types are rounded at the end.
TEST_P(QuantizedArithmeticTest, EveryDeviceAndTypeHasTheSameBits) {
  Ranks expected("cpu", layout_, options_, DType::kFP32);
  Ranks actual(device(), layout_, options_, type());
  for (int step = 0; step < 3; ++step) {
    std::vector<Floats> gradients = Gradients(step);
    if (step == 1) gradients.back()[5] = std::numeric_limits<float>::infinity();
    const float tiny = step == 2 ? Rounded(type(), 1e-33f) : 0;
    for (Floats& g : gradients) std::fill_n(g.begin() + 512, 256, tiny);
    expected.Step(gradients);
    actual.Step(gradients);
    if (step == 0) {
      expected.Rescale(0.25f);
      actual.Rescale(0.25f);
    }
    for (int r = 0; r < options_.world; ++r) {
      const Rank a = actual.Get(r), e = expected.Get(r);
      EXPECT_EQ(std::memcmp(a.residual.data(), e.residual.data(), a.residual.size() * 4), 0);
      EXPECT_EQ(std::memcmp(a.messages.data(), e.messages.data(), a.messages.size() * 4), 0);
      for (size_t i = 0; i < a.gradients.size(); ++i) {
        ASSERT_TRUE(SameNumber(a.gradients[i], Rounded(type(), e.gradients[i])))
            << a.gradients[i] << ", " << e.gradients[i] << ": " << step << ", " << i;
      }
    }
  }
}

TEST_P(QuantizedArithmeticTest, AllRanksLearnOfAnInfiniteGradientAndKeepNothingOfIt) {
  Ranks ranks(device(), layout_, options_, type());
  ranks.Step(Gradients(1));
  const Floats before = ranks.Get(options_.world - 1).residual;
  std::vector<Floats> gradients = Gradients(2);
  gradients.back()[300] = -std::numeric_limits<float>::infinity();
  ranks.Step(gradients);
  for (int r = 0; r < options_.world; ++r) {
    const Rank rank = ranks.Get(r);
    for (int i = 256; i < 512; ++i) ASSERT_TRUE(std::isnan(rank.gradients[i])) << i;
    for (int i = 0; i < 256; ++i) ASSERT_TRUE(std::isfinite(rank.gradients[i])) << i;
    for (const float h : rank.residual) ASSERT_TRUE(std::isfinite(h));
  }
  const Floats after = ranks.Get(options_.world - 1).residual;
  EXPECT_TRUE(std::equal(&after[256], &after[512], &before[256]));
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  const auto& [device, bits, rotate, world, type] = info.param;
  return device + "_" + std::to_string(bits) + (rotate ? "_rotated_" : "_") +
         std::to_string(world) + "_" + Name(type);
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const std::string& device : TestDevices()) {
    for (const int bits : {8, 4}) {
      for (const bool rotate : {false, true}) {
        for (const int world : {1, 3}) {
          cases.emplace_back(device, bits, rotate, world, DType::kFP32);
        }
      }
    }
    cases.emplace_back(device, 8, false, 2, DType::kFP32);
    cases.emplace_back(device, 4, true, 7, DType::kFP32);
    cases.emplace_back(device, 8, true, 2, DType::kBF16);
    cases.emplace_back(device, 4, false, 3, DType::kBF16);
    if (device == "cpu") continue;
    cases.emplace_back(device, 8, false, 7, DType::kFP16);
    cases.emplace_back(device, 4, true, 2, DType::kFP16);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Devices, QuantizedArithmeticTest, testing::ValuesIn(Cases()), NameOf);

}  // namespace
}  // namespace gf
