#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective_runner.h"
#include "comm/communicator.h"

namespace gf {

// A vector in either own type.
class TestVector {
 public:
  TestVector(DType dtype, int64_t count) : dtype_(dtype), bytes_(count * SizeOf(dtype) + 1) {}
  void* data() { return bytes_.data(); }
  void Set(int64_t i, float value) {
    if (dtype_ == DType::kFP32) {
      std::memcpy(&bytes_[i * 4], &value, 4);
    } else {
      const uint16_t bits = ToBF16(value);
      std::memcpy(&bytes_[i * 2], &bits, 2);
    }
  }
  float Get(int64_t i) const {
    float value;
    uint16_t bits;
    if (dtype_ == DType::kFP32) {
      std::memcpy(&value, &bytes_[i * 4], 4);
      return value;
    }
    std::memcpy(&bits, &bytes_[i * 2], 2);
    return FromBF16(bits);
  }
  const std::vector<char>& bytes() const { return bytes_; }

 private:
  const DType dtype_;
  std::vector<char> bytes_;
};

// Names of the algorithms that can run in the communicator's world.
inline std::vector<std::string> AlgorithmsHere(const Communicator& comm) {
  std::vector<std::string> names;
  const Topology topology = TopologyOf(comm.hosts());
  for (const std::string& name : AlgorithmRegistry::Get().Keys()) {
    if (AlgorithmRegistry::Get().Create("algorithm", name)->Fits(topology)) names.push_back(name);
  }
  return names;
}

// Sums of small integers are exact in every type, whatever the order.
inline void CheckExactCollective(const std::string& algorithm, DType dtype, DType wire,
                                 int64_t count, Communicator* comm) {
  TestVector v(dtype, count);
  for (int64_t i = 0; i < count; ++i) v.Set(i, static_cast<float>((i + comm->rank()) % 5) - 2);
  comm->Start({Collective::kAllReduce, v.data(), count, dtype, wire, algorithm}, algorithm)->Wait();
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int r = 0; r < comm->size(); ++r) sum += static_cast<float>((i + r) % 5) - 2;
    wrong += v.Get(i) != sum;
  }
  EXPECT_EQ(wrong, 0) << algorithm << ", " << count << " " << Name(dtype) << " as " << Name(wire)
                      << ", rank " << comm->rank() << " of " << comm->size();
}

// Sums that round still have the same bits on all ranks.
inline void CheckSameBits(const std::string& algorithm, DType dtype, DType wire, int64_t count,
                          Communicator* comm) {
  TestVector v(dtype, count);
  for (int64_t i = 0; i < count; ++i) {
    v.Set(i, 1.0f / static_cast<float>(1 + i % 1000 + 17 * comm->rank()));
  }
  comm->Run({Collective::kAllReduce, v.data(), count, dtype, wire, algorithm}, algorithm);
  const std::string bits(v.bytes().begin(), v.bytes().end());
  const std::vector<std::string> all = comm->AllGather(bits, "bits");
  for (int r = 0; r < comm->size(); ++r) {
    EXPECT_TRUE(all[r] == bits) << algorithm << ", " << count << " " << Name(dtype) << " as "
                                << Name(wire) << ": ranks " << r << " and " << comm->rank();
  }
  double worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int r = 0; r < comm->size(); ++r) {
      sum += 1.0f / static_cast<float>(1 + i % 1000 + 17 * r);
    }
    worst = std::max(worst, std::abs(v.Get(i) - sum) / sum);
  }
  const bool half = dtype == DType::kBF16 || wire == DType::kBF16;
  const double limit = half ? 0.004 * (2 + comm->size()) : wire == DType::kFP16 ? 0.004 : 1e-5;
  EXPECT_LT(worst, limit) << algorithm << ", " << Name(dtype) << " as " << Name(wire);
}

// The halves of a ring: each rank holds the sum of its part, then all hold everything.
inline void CheckHalves(DType wire, int64_t count, Communicator* comm) {
  TestVector v(DType::kFP32, count);
  for (int64_t i = 0; i < count; ++i) v.Set(i, static_cast<float>((i + comm->rank()) % 5) - 2);
  const auto sum = [&](int64_t i) {
    float total = 0;
    for (int r = 0; r < comm->size(); ++r) total += static_cast<float>((i + r) % 5) - 2;
    return total;
  };
  comm->Run({Collective::kReduceScatter, v.data(), count, DType::kFP32, wire, ""}, "halves");
  const int64_t begin = PartBegin(count, comm->rank(), comm->size());
  const int64_t end = PartBegin(count, comm->rank() + 1, comm->size());
  int64_t wrong = 0;
  for (int64_t i = begin; i < end; ++i) wrong += v.Get(i) != sum(i);
  for (int64_t i = begin; i < end; ++i) v.Set(i, 2 * v.Get(i));
  comm->Run({Collective::kAllGather, v.data(), count, DType::kFP32, wire, ""}, "halves");
  for (int64_t i = 0; i < count; ++i) wrong += v.Get(i) != 2 * sum(i);
  EXPECT_EQ(wrong, 0) << count << " as " << Name(wire) << ", rank " << comm->rank();
}

// Hashes words of any bits, in an order that shows.
class SumOfWords : public EncodedSum {
 public:
  SumOfWords(int64_t part, int rank, int world) : part_(part), rank_(rank), world_(world) {}

  void OnHost(float* messages) const override {
    for (int64_t i = 0; i < part_; ++i) {
      uint32_t sum = 0, word;
      for (int r = 0; r < world_; ++r) {
        std::memcpy(&word, messages + (world_ + r) * part_ + i, sizeof(word));
        sum = 3 * sum + word;
      }
      std::memcpy(messages + rank_ * part_ + i, &sum, sizeof(sum));
    }
  }
  void OnDevice(float*, Stream*) const override { FAIL(); }

 private:
  const int64_t part_;
  const int rank_, world_;
};

// Every part is summed once, by its rank, in the order of the ranks.
inline void CheckEncodedSum(int64_t part, Communicator* comm) {
  const int rank = comm->rank(), world = comm->size();
  // Signaling NaNs and subnormal numbers, too.
  const auto word = [&](int from, int64_t i) {
    return static_cast<uint32_t>(i * world + from + 1) * 0x9e3779b9u;
  };
  std::vector<uint32_t> words(2 * world * part, 0x7fa00001u);
  for (int64_t i = 0; i < world * part; ++i) {
    const bool own = i / part == rank;
    words[own ? (world + rank) * part + i % part : i] = word(rank, i);
  }
  Collective sum;
  sum.kind = Collective::kEncodedSum;
  sum.data = words.data();
  sum.count = static_cast<int64_t>(words.size());
  sum.sum = std::make_shared<SumOfWords>(part, rank, world);
  comm->Start(sum, "encoded")->Wait();
  int64_t wrong = 0;
  for (int64_t i = 0; i < world * part; ++i) {
    uint32_t expected = 0;
    for (int r = 0; r < world; ++r) expected = 3 * expected + word(r, i);
    wrong += words[i] != expected;
  }
  EXPECT_EQ(wrong, 0) << "parts of " << part << ", rank " << rank << " of " << world;
}

inline void CheckCollectives(const std::vector<int64_t>& counts, Communicator* comm) {
  for (DType wire : {DType::kFP32, DType::kBF16, DType::kFP16}) {
    for (DType dtype : {DType::kFP32, DType::kBF16}) {
      for (const std::string& algorithm : AlgorithmsHere(*comm)) {
        for (int64_t count : counts) CheckExactCollective(algorithm, dtype, wire, count, comm);
        CheckSameBits(algorithm, dtype, wire, 3001, comm);
      }
    }
    for (int64_t count : counts) CheckHalves(wire, count, comm);
  }
  for (int64_t count : counts) CheckEncodedSum((count + comm->size() - 1) / comm->size(), comm);
}

}  // namespace gf
