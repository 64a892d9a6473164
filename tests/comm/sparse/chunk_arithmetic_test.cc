// What every device does to chunks, against the definition.
#include "comm/sparse/chunk_arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/comm/wire/number_formats.h"
#include "tests/core/test_devices.h"

namespace gf {
namespace {

constexpr float kMomentum = 0.9f;
constexpr int kWorld = 3;

struct Case {
  std::string device;
  int64_t count, chunk_size;
  DType gradient, packed;
};

// Chunks of one element, of odd sizes, of the paper's, and of more than a block of a GPU takes at
// once; pools that end inside a chunk.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const std::string& device : TestDevices()) {
    for (DType gradient : {DType::kFP32, DType::kBF16, DType::kFP16}) {
      if (gradient == DType::kFP16 && device == "cpu") continue;
      for (DType packed : {DType::kFP32, DType::kBF16, DType::kFP16}) {
        cases.push_back({device, 37, 1, gradient, packed});
        cases.push_back({device, 5011, 7, gradient, packed});
        cases.push_back({device, 20011, 1003, gradient, packed});
        cases.push_back({device, 133011, 32000, gradient, packed});
        cases.push_back({device, 140003, 66001, gradient, packed});
      }
    }
  }
  return cases;
}

class ChunkArithmeticTest : public testing::TestWithParam<Case> {
 protected:
  ChunkArithmeticTest()
      : device_(DeviceRegistry::Get().Create("device", GetParam().device, 2)),
        grid_(GetParam().count, GetParam().chunk_size),
        g_(GetParam().gradient, grid_.count()),
        h_(DType::kFP32, grid_.count()),
        packed_(GetParam().packed, grid_.count()) {
    Random random(5, static_cast<uint64_t>(grid_.count()));
    g_.FillGaussian(&random);
    h_.FillGaussian(&random, 3);
    packed_.FillGaussian(&random, 2);
    std::vector<int64_t> ids;
    for (int64_t c = 0; c < grid_.chunks(); ++c) {
      const bool some = random.Gaussian() > 0.4f;
      if ((some && c > 0) || c + 1 == grid_.chunks()) ids.push_back(c);
    }
    set_ = std::make_unique<ChunkSet>(grid_, ids);
    pools_ = {Upload(g_), Upload(h_), Upload(packed_), New(grid_.chunks(), DType::kFP32)};
    arithmetic_ = ChunkArithmeticRegistry::Get().Create(
        "device", device_->name(), device_.get(), grid_, pools_, ChunkFactors{kMomentum, kWorld});
    arithmetic_->Begin(*set_);
  }

  Tensor New(int64_t count, DType dtype) const {
    Tensor tensor;
    tensor.desc = {Shape{count}, dtype, Layout()};
    tensor.owner = device_->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    return tensor;
  }
  void Put(Numbers* numbers, const Tensor& tensor) const {
    device_->CopyFromHost(numbers->data(), tensor.data, tensor.desc.bytes(),
                          device_->compute_stream());
  }
  Tensor Upload(Numbers& numbers) const {
    const Tensor tensor = New(numbers.count(), numbers.type());
    Put(&numbers, tensor);
    return tensor;
  }
  Numbers Download(const Tensor& tensor) const {
    Numbers numbers(tensor.desc.dtype, tensor.desc.shape.count());
    device_->CopyToHost(tensor.data, numbers.data(), tensor.desc.bytes(),
                        device_->compute_stream());
    return numbers;
  }

  // The pool in pieces that begin and end inside chunks, in order.
  std::vector<ElementRange> Pieces() const {
    std::vector<ElementRange> pieces;
    const int64_t size = grid_.count();
    int64_t begin = 0;
    for (int64_t length : {size / 7, size / 1001, int64_t{0}, size / 3, int64_t{1}, size}) {
      const int64_t end = std::min(size, begin + length);
      pieces.push_back({begin, end});
      begin = end;
    }
    return pieces;
  }

  bool Important(int64_t element) const { return set_->Contains(grid_.ChunkOf(element)); }

  // The norms that were added, against those of `expected` (by chunk).
  void ExpectNorms(const std::vector<double>& expected) {
    arithmetic_->StoreNorms();
    const Numbers norms = Download(pools_.norms);
    for (int64_t c = 0; c < grid_.chunks(); ++c) {
      ASSERT_NEAR(norms.Get(c), expected[c], 3e-6 * expected[c]) << "chunk " << c;
    }
  }
  void ExpectSame(const Tensor& tensor, const Numbers& expected) {
    const Numbers found = Download(tensor);
    for (int64_t i = 0; i < expected.count(); ++i) {
      ASSERT_TRUE(SameNumber(found.Get(i), expected.Get(i)))
          << i << ": " << found.Get(i) << ", expected " << expected.Get(i);
    }
  }

  // Zeros of both signs under zeros of both signs.
  void PlantZeros() {
    int combination = 0;
    for (int64_t i = 0; i < grid_.count(); i += 1 + grid_.count() / 50) {
      g_.Set(i, combination & 1 ? -0.f : 0.f);
      h_.Set(i, combination & 2 ? -0.f : 0.f);
      ++combination;
    }
    Put(&g_, pools_.gradients);
    Put(&h_, pools_.residual);
  }
  // g + h, and g where h is 0.
  float Merged(int64_t i) const {
    return BitsOf(h_.Get(i)) == 0 ? g_.Get(i) : g_.Get(i) + h_.Get(i);
  }

  const std::unique_ptr<Device> device_;
  const ChunkGrid grid_;
  Numbers g_, h_, packed_;
  std::unique_ptr<ChunkSet> set_;
  ChunkPools pools_;
  std::unique_ptr<ChunkArithmetic> arithmetic_;
};

TEST_P(ChunkArithmeticTest, MergeAddsTheResidualAndKeepsTheSignOfZero) {
  PlantZeros();
  const std::vector<ElementRange> pieces = Pieces();
  // Not the third and the last.
  Numbers g = g_, h = h_;
  for (size_t p : {0u, 1u, 3u, 4u}) {
    arithmetic_->Merge(pieces[p]);
    for (int64_t i = pieces[p].begin; i < pieces[p].end; ++i) {
      g.Set(i, Merged(i));
      h.Set(i, 0);
    }
  }
  ExpectSame(pools_.gradients, g);
  ExpectSame(pools_.residual, h);
  ExpectNorms(std::vector<double>(grid_.chunks()));
}

TEST_P(ChunkArithmeticTest, ImportantChunksArePackedAndTheOthersKept) {
  PlantZeros();
  for (const ElementRange& range : Pieces()) arithmetic_->KeepOrPack(range);
  Numbers h = h_, packed = packed_;
  std::vector<double> norms(grid_.chunks());
  for (int64_t i = 0; i < grid_.count(); ++i) {
    if (Important(i)) {
      packed.Set(set_->PackedOffset(i), Merged(i));
      h.Set(i, 0);
      continue;
    }
    const float sum = g_.Get(i) + h_.Get(i);
    norms[grid_.ChunkOf(i)] += std::fabs(static_cast<double>(sum));
    h.Set(i, kMomentum * sum);
  }
  ExpectSame(pools_.gradients, g_);
  ExpectSame(pools_.residual, h);
  ExpectSame(pools_.packed, packed);
  ExpectNorms(norms);
}

TEST_P(ChunkArithmeticTest, UnpackedChunksCountOnceAmongTheRanks) {
  for (const ElementRange& range : Pieces()) arithmetic_->Unpack(range);
  Numbers g = g_;
  std::vector<double> norms(grid_.chunks());
  for (int64_t i = 0; i < grid_.count(); ++i) {
    if (!Important(i)) continue;
    const float value = packed_.Get(set_->PackedOffset(i));
    g.Set(i, value);
    norms[grid_.ChunkOf(i)] += std::fabs(static_cast<double>(value)) / kWorld;
  }
  ExpectSame(pools_.gradients, g);
  ExpectSame(pools_.residual, h_);
  ExpectSame(pools_.packed, packed_);
  ExpectNorms(norms);
}

TEST_P(ChunkArithmeticTest, NormsOfGradientsCountOnceAmongTheRanksAndStartAnew) {
  for (int step = 0; step < 2; ++step) {
    arithmetic_->Begin(ChunkSet::All(grid_));
    for (const ElementRange& range : Pieces()) arithmetic_->AddNorms(range);
    std::vector<double> norms(grid_.chunks());
    for (int64_t i = 0; i < grid_.count(); ++i) {
      norms[grid_.ChunkOf(i)] += std::fabs(static_cast<double>(g_.Get(i))) / kWorld;
    }
    ExpectNorms(norms);
  }
  ExpectSame(pools_.gradients, g_);
}

TEST_P(ChunkArithmeticTest, WhatIsNotFiniteIsSeenAndLeavesNoResidual) {
  const float inf = std::numeric_limits<float>::infinity();
  for (float bad : {inf, -inf, std::nanf("")}) {
    Numbers g = g_;
    int64_t element = 0;  // in the last chunk that is not important
    for (int64_t i = 0; i < grid_.count(); ++i) {
      if (!Important(i)) element = i;
    }
    const int64_t chunk = grid_.ChunkOf(element);
    g.Set(element, bad);
    Put(&g, pools_.gradients);
    Put(&h_, pools_.residual);
    arithmetic_->Begin(*set_);
    arithmetic_->KeepOrPack({0, grid_.count()});
    arithmetic_->StoreNorms();
    const Numbers h = Download(pools_.residual), norms = Download(pools_.norms);
    for (int64_t c = 0; c < grid_.chunks(); ++c) {
      ASSERT_EQ(std::isfinite(norms.Get(c)), c != chunk) << "chunk " << c;
    }
    for (int64_t i = 0; i < grid_.count(); ++i) {
      const bool none = Important(i) || grid_.ChunkOf(i) == chunk;
      ASSERT_EQ(h.Get(i), none ? 0.f : kMomentum * (g.Get(i) + h_.Get(i))) << i;
    }
  }
}

TEST_P(ChunkArithmeticTest, OnlyTheRangesPartOfABadChunkIsDropped) {
  int64_t chunk = 0;
  while (set_->Contains(chunk)) ++chunk;
  const int64_t begin = grid_.Begin(chunk), end = grid_.End(chunk);
  const int64_t middle = begin + (end - begin) / 2;
  g_.Set(end - 1, std::numeric_limits<float>::infinity());
  Put(&g_, pools_.gradients);
  arithmetic_->KeepOrPack({begin, middle});
  arithmetic_->KeepOrPack({middle, end});
  const Numbers h = Download(pools_.residual);
  for (int64_t i = begin; i < end; ++i) {
    ASSERT_EQ(h.Get(i), i < middle ? kMomentum * (g_.Get(i) + h_.Get(i)) : 0.f) << i;
  }
}

TEST_P(ChunkArithmeticTest, RescaleMultipliesResiduals) {
  arithmetic_->Rescale(0.5f);
  Numbers h = h_;
  for (int64_t i = 0; i < grid_.count(); ++i) h.Set(i, 0.5f * h_.Get(i));
  ExpectSame(pools_.residual, h);
  ExpectSame(pools_.gradients, g_);
}

// Note [Norms with the same bits] holds for every device.
TEST_P(ChunkArithmeticTest, NormsHaveTheProcessorsBits) {
  if (GetParam().device == "cpu" || GetParam().gradient == DType::kFP16) {
    GTEST_SKIP() << "this is the processor, or it has no such gradients";
  }
  const auto cpu = DeviceRegistry::Get().Create("device", "cpu", 2);
  const auto host = [](Numbers* numbers) {
    Tensor tensor;
    tensor.desc = {Shape{numbers->count()}, numbers->type(), Layout()};
    tensor.data = numbers->data();
    return tensor;
  };
  Numbers norms(DType::kFP32, grid_.chunks()), g = g_, h = h_, packed = packed_;
  const ChunkPools pools = {host(&g), host(&h), host(&packed), host(&norms)};
  const auto expected = ChunkArithmeticRegistry::Get().Create(
      "device", "cpu", cpu.get(), grid_, pools, ChunkFactors{kMomentum, kWorld});
  expected->Begin(*set_);
  for (ChunkArithmetic* each : {expected.get(), arithmetic_.get()}) {
    for (const ElementRange& range : Pieces()) each->KeepOrPack(range);
    for (const ElementRange& range : Pieces()) each->Unpack(range);
    each->StoreNorms();
  }
  ExpectSame(pools_.norms, norms);
}

// Magnitudes whose sum in double depends on the order so much that it is seen in FP32: added in
// another order they give the next number.
TEST_P(ChunkArithmeticTest, PartialSumsAreAddedInTheirOrder) {
  if (grid_.chunk_size() < 32) GTEST_SKIP() << "a chunk has too few partial sums";
  Numbers g(GetParam().gradient, grid_.count()), h(DType::kFP32, grid_.count());
  std::vector<float> expected(grid_.chunks(), 1.f);
  for (int64_t c = 0; c + 1 < grid_.chunks(); ++c) {
    const int64_t begin = grid_.Begin(c);
    if (c == 1 && grid_.chunk_size() > 33000) {
      // In blocks that GPUs add up at different times; 2^-23 is half of what follows 2.
      h.Set(begin, std::ldexp(1.25f, -52));
      h.Set(begin + 32768, 1);
      h.Set(begin + 32769, 1);
      h.Set(begin + 32770, std::ldexp(1.f, -23));
      expected[c] = 2;
      continue;
    }
    // 1 + 2^-24, half of what follows 1, and 30 times 2^-53, which in double is lost after 1.
    h.Set(begin, 1);
    h.Set(begin + 1, std::ldexp(-34.f, -30));
    for (int64_t i = 2; i < 32; ++i) {
      h.Set(begin + i, std::ldexp(1.f, -30) + std::ldexp(1.f, -53));
    }
  }
  Put(&g, pools_.gradients);
  Put(&h, pools_.residual);
  arithmetic_->Begin(ChunkSet(grid_, {grid_.chunks() - 1}));
  arithmetic_->KeepOrPack({0, grid_.count()});
  arithmetic_->StoreNorms();
  const Numbers norms = Download(pools_.norms);
  for (int64_t c = 0; c + 1 < grid_.chunks(); ++c) ASSERT_EQ(norms.Get(c), expected[c]) << c;
}

INSTANTIATE_TEST_SUITE_P(Devices, ChunkArithmeticTest, testing::ValuesIn(Cases()),
                         [](const auto& info) {
                           return info.param.device + "_" + Name(info.param.gradient) + "_" +
                                  Name(info.param.packed) + "_" +
                                  std::to_string(info.param.chunk_size);
                         });

}  // namespace
}  // namespace gf
