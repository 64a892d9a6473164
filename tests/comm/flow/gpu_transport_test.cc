// Sums from GPU to GPU, as one of the ranks that mpirun started. Skipped, and said, where ranks
// have no GPUs of their own.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "comm/collective_runner.h"
#include "comm/flow/gradient_transport.h"
#include "comm/plan.h"
#include "comm/quantized/quantized_arithmetic.h"
#include "comm/quantized/quantized_sum.h"
#include "core/error.h"
#include "tests/comm/mpi/mpi_main.h"

namespace gf {
namespace {

struct Types {
  DType memory, wire;
};
const Types kTypes[] = {{DType::kFP32, DType::kFP32}, {DType::kFP16, DType::kFP16},
                        {DType::kBF16, DType::kBF16}, {DType::kFP32, DType::kFP16},
                        {DType::kFP32, DType::kBF16}, {DType::kFP16, DType::kFP32}};
// Whole and not whole multiples of the number of ranks.
const int64_t kCounts[] = {0, 1, 2, 7, 1000, 32001, 1 << 20};
// Elements in front of a range and behind it, which must stay.
constexpr int64_t kBefore = 3, kAfter = 5;

class GpuTransportTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    try {
      device_ = DeviceRegistry::Get().Create("device", "cuda", 0);
    } catch (const UserError& e) {
      why = e.what();
    }
    const std::string address = device_ == nullptr ? "" : device_->Address();
    std::set<std::string> addresses;
    for (const std::string& each : comm->AllGather(address, "GPUs")) addresses.insert(each);
    if (addresses.count("") == 0 && static_cast<int>(addresses.size()) < comm->size()) {
      why = StrCat(comm->size(), " ranks have ", addresses.size(), " GPUs");
    }
    if (!why.empty() || addresses.count("") != 0) {
      GTEST_SKIP() << "NOT TESTED on GPUs: " << why;
    }
    transport_ = NewTransport("");
  }

  std::unique_ptr<GradientTransport> NewTransport(const std::string& algorithm) const {
    return GradientTransportRegistry::Get().Create("device", "cuda", device_.get(), comm,
                                                   algorithm);
  }
  Tensor New(int64_t count, DType dtype) const {
    Tensor tensor;
    tensor.desc = {Shape{count}, dtype, Layout()};
    tensor.owner = device_->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    return tensor;
  }
  void Put(std::vector<float> values, const Tensor& tensor) const {
    const Tensor plain = New(tensor.desc.shape.count(), DType::kFP32);
    device_->CopyFromHost(values.data(), plain.data, plain.desc.bytes(), stream());
    device_->Convert(plain, tensor, stream());
  }
  std::vector<float> Get(const Tensor& tensor) const {
    const Tensor plain = New(tensor.desc.shape.count(), DType::kFP32);
    device_->Convert(tensor, plain, stream());
    std::vector<float> values(plain.desc.shape.count());
    device_->CopyToHost(plain.data, values.data(), plain.desc.bytes(), stream());
    return values;
  }
  Stream* stream() const { return device_->compute_stream(); }

  // A small integer: sums are exact in every type.
  static float Value(int rank, int64_t i) { return static_cast<float>((i + 3 * rank) % 11); }
  static float Sum(int64_t i) {
    float sum = 0;
    for (int rank = 0; rank < comm->size(); ++rank) sum += Value(rank, i);
    return sum;
  }

  // Every plan that fits the ranks.
  static std::vector<std::string> Algorithms() {
    std::vector<std::string> names;
    for (const std::string& name : AlgorithmRegistry::Get().Keys()) {
      const auto algorithm = AlgorithmRegistry::Get().Create("algorithm", name);
      if (algorithm->Fits(TopologyOf(comm->hosts()))) names.push_back(name);
    }
    return names;
  }

  void Check(Collective::Kind kind, const Types& types, int64_t count,
             GradientTransport* transport) {
    const int rank = comm->rank(), world = comm->size();
    SCOPED_TRACE(StrCat(NameOf(kind), " ", transport->Describe(), " ", Name(types.memory), " ",
                        Name(types.wire), " ", count));
    std::vector<float> values(kBefore + count + kAfter);
    for (size_t i = 0; i < values.size(); ++i) values[i] = Value(rank, static_cast<int64_t>(i));
    const std::vector<float> before = values;
    const Tensor tensor = New(static_cast<int64_t>(values.size()), types.memory);
    Put(values, tensor);
    const ElementRange range = {kBefore, kBefore + count};
    transport->Await(transport->Start({kind, tensor, range, types.wire, "a test"}));
    const std::vector<float> after = Get(tensor);
    for (int64_t i = 0; i < kBefore; ++i) ASSERT_EQ(after[i], before[i]);
    for (int64_t i = kBefore + count; i < kBefore + count + kAfter; ++i) {
      ASSERT_EQ(after[i], before[i]);
    }
    for (int part = 0; part < world; ++part) {
      if (kind == Collective::kReduceScatter && part != rank) continue;
      for (int64_t i = kBefore + PartBegin(count, part, world);
           i < kBefore + PartBegin(count, part + 1, world); ++i) {
        ASSERT_EQ(after[i], kind == Collective::kAllGather ? Value(part, i) : Sum(i)) << i;
      }
    }
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<GradientTransport> transport_;  // with NCCL's own algorithms
};

TEST_F(GpuTransportTest, EveryCollectiveDoesWhatItSays) {
  // How far apart the clocks of host and GPU may be.
  constexpr auto kClocks = std::chrono::milliseconds(1);
  const auto begin = std::chrono::steady_clock::now() - kClocks;
  for (const Types& types : kTypes) {
    for (const int64_t count : kCounts) {
      Check(Collective::kAllReduce, types, count, transport_.get());
      Check(Collective::kReduceScatter, types, count, transport_.get());
      if (types.memory == types.wire) Check(Collective::kAllGather, types, count, transport_.get());
    }
  }
  transport_->Settle();
  const std::vector<TransferSpan> spans = transport_->TakeSpans();
  ASSERT_FALSE(spans.empty());
  const auto end = std::chrono::steady_clock::now() + kClocks;
  for (const TransferSpan& span : spans) {
    EXPECT_LE(begin, span.begin);
    EXPECT_LE(span.begin, span.end);
    EXPECT_LE(span.stall, span.resume);
    EXPECT_LE(span.resume, end);
  }
}

TEST_F(GpuTransportTest, EveryPlanSums) {
  for (const std::string& algorithm : Algorithms()) {
    const auto transport = NewTransport(algorithm);
    for (const Types& types : kTypes) {
      for (const int64_t count : kCounts) {
        Check(Collective::kAllReduce, types, count, transport.get());
      }
    }
    transport->Settle();
  }
}

// The first half is what the processor would make of all ranks' parts.
TEST_F(GpuTransportTest, EncodedSumsAreThoseOfTheProcessor) {
  const int rank = comm->rank(), world = comm->size();
  for (const int bits : {8, 4}) {
    for (const int64_t blocks : {1, 9, 300}) {
      QuantizedBucket bucket;
      bucket.part_blocks = blocks;
      const int64_t words = bucket.part_words = QuantizedPartWords(blocks, bits);
      QuantizedOptions options;
      options.bits = bits;
      options.rank = rank;
      options.world = world;
      const std::vector<QuantizedBucket> buckets = {bucket};
      const auto arithmetic = QuantizedArithmeticRegistry::Get().Create(
          "device", "cuda", device_.get(), QuantizedPools(), buckets, options);
      // Part `to` of rank `from`: scales, and codes of any bits.
      const auto write = [&](int from, int to, float* part) {
        for (int64_t i = 0; i < words; ++i) {
          const uint32_t code = static_cast<uint32_t>(i + 1000 * from + 77 * to) * 0x9e3779b9u;
          std::memcpy(part + i, &code, sizeof(code));
        }
        for (int64_t i = 0; i < blocks; ++i) part[i] = static_cast<float>(i + from + 1) / 3;
      };
      const int64_t count = 2 * world * words;
      std::vector<float> values(kBefore + count + kAfter, 5.f);
      for (int to = 0; to < world; ++to) {
        write(rank, to, &values[kBefore + (to == rank ? world + rank : to) * words]);
      }
      const Tensor tensor = New(static_cast<int64_t>(values.size()), DType::kFP32);
      device_->CopyFromHost(values.data(), tensor.data, tensor.desc.bytes(), stream());
      transport_->Await(transport_->Start({Collective::kEncodedSum,
                                           tensor,
                                           {kBefore, kBefore + count},
                                           DType::kFP32,
                                           "a test",
                                           arithmetic->SumOf(0)}));
      device_->CopyToHost(tensor.data, values.data(), tensor.desc.bytes(), stream());
      for (int part = 0; part < world; ++part) {
        std::vector<float> expected(count);
        for (int from = 0; from < world; ++from) {
          write(from, part, &expected[(world + from) * words]);
        }
        QuantizedSum(blocks, bits, part, world).OnHost(expected.data());
        ASSERT_EQ(std::memcmp(&values[kBefore + part * words], &expected[part * words],
                              words * sizeof(float)),
                  0)
            << bits << " bits, " << blocks << " blocks, part " << part;
      }
      for (int64_t i = 0; i < kBefore; ++i) ASSERT_EQ(values[i], 5);
      for (int64_t i = kBefore + count; i < kBefore + count + kAfter; ++i) {
        ASSERT_EQ(values[i], 5);
      }
    }
  }
}

TEST_F(GpuTransportTest, SeveralAtATimeKeepTheOrderOfTheStream) {
  constexpr int64_t kPart = 100000;
  constexpr int kParts = 8;
  const Tensor pool = New(kParts * kPart, DType::kFP16);
  for (int step = 0; step < 5; ++step) {
    std::vector<float> values(kParts * kPart);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = Value(comm->rank() + step, static_cast<int64_t>(i));
    }
    Put(values, pool);
    std::vector<int64_t> numbers;
    for (int part = 0; part < kParts; ++part) {
      numbers.push_back(transport_->Start({Collective::kAllReduce,
                                           pool,
                                           {part * kPart, (part + 1) * kPart},
                                           DType::kFP16,
                                           StrCat("part ", part)}));
    }
    for (const int64_t number : numbers) transport_->Await(number);
    const std::vector<float> sums = Get(pool);
    for (size_t i = 0; i < sums.size(); ++i) {
      float expected = 0;
      for (int rank = 0; rank < comm->size(); ++rank) {
        expected += Value(rank + step, static_cast<int64_t>(i));
      }
      ASSERT_EQ(sums[i], expected) << step << " " << i;
    }
  }
}

}  // namespace
}  // namespace gf
