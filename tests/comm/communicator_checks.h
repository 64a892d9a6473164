#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace gf {

// Sums of small integers are exact in both types, whatever the order: rank r holds (i + r) % 8.
inline void CheckExactSums(Communicator* comm) {
  for (int64_t count : {0, 1, 2, 10, 1000, 32001, 1 << 20, (1 << 20) + 5}) {
    std::vector<float> fp32(count);
    std::vector<uint16_t> bf16(count);
    for (int64_t i = 0; i < count; ++i) {
      fp32[i] = static_cast<float>((i + comm->rank()) % 8);
      bf16[i] = ToBF16(fp32[i]);
    }
    comm->AllReduceSum(fp32.data(), count, DType::kFP32, "fp32");
    comm->AllReduceSum(bf16.data(), count, DType::kBF16, "bf16");
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; ++i) {
      float sum = 0;
      for (int r = 0; r < comm->size(); ++r) sum += static_cast<float>((i + r) % 8);
      wrong += fp32[i] != sum || FromBF16(bf16[i]) != sum;
    }
    EXPECT_EQ(wrong, 0) << count << " elements on rank " << comm->rank();
  }
}

// Sums that round differently in different orders still have the same bits everywhere.
inline void CheckSameBits(Communicator* comm) {
  for (int64_t count : {1, 10, 1000, 32001, 1 << 18}) {
    std::vector<float> fp32(count);
    std::vector<uint16_t> bf16(count);
    for (int64_t i = 0; i < count; ++i) {
      fp32[i] = 1.0f / static_cast<float>(1 + i % 1000 + 17 * comm->rank());
      bf16[i] = ToBF16(fp32[i]);
    }
    comm->AllReduceSum(fp32.data(), count, DType::kFP32, "fp32");
    comm->AllReduceSum(bf16.data(), count, DType::kBF16, "bf16");
    const std::string bits =
        std::string(reinterpret_cast<const char*>(fp32.data()), count * sizeof(float)) +
        std::string(reinterpret_cast<const char*>(bf16.data()), count * sizeof(uint16_t));
    const std::vector<std::string> all = comm->AllGather(bits, "bits");
    for (int r = 0; r < comm->size(); ++r) EXPECT_TRUE(all[r] == bits) << r << ", " << count;
  }
}

inline void CheckCounters(Communicator* comm) {
  const int rank = comm->rank(), last = comm->size() - 1;
  const int64_t large = int64_t{1} << 60;
  int64_t whole[3] = {rank, rank, rank}, exact = rank == last ? large + 1 : 0;
  double real[3] = {rank + 0.5, rank + 0.5, rank + 0.5};
  comm->AllReduce(&whole[0], 1, ReduceOp::kSum, "sum");
  comm->AllReduce(&whole[1], 1, ReduceOp::kMin, "min");
  comm->AllReduce(&whole[2], 1, ReduceOp::kMax, "max");
  comm->AllReduce(&exact, 1, ReduceOp::kSum, "exact");
  comm->AllReduce(&real[0], 1, ReduceOp::kSum, "sum");
  comm->AllReduce(&real[1], 1, ReduceOp::kMin, "min");
  comm->AllReduce(&real[2], 1, ReduceOp::kMax, "max");
  EXPECT_EQ(whole[0], last * (last + 1) / 2);
  EXPECT_EQ(whole[1], 0);
  EXPECT_EQ(whole[2], last);
  EXPECT_EQ(exact, large + 1);
  EXPECT_EQ(real[0], last * (last + 1) / 2 + 0.5 * (last + 1));
  EXPECT_EQ(real[1], 0.5);
  EXPECT_EQ(real[2], last + 0.5);
}

// Strings of different lengths, none, and with any bytes.
inline void CheckAllGather(Communicator* comm) {
  const auto text = [](int rank) { return std::string(rank * 1000, static_cast<char>(rank)); };
  const std::vector<std::string> all = comm->AllGather(text(comm->rank()), "texts");
  ASSERT_EQ(static_cast<int>(all.size()), comm->size());
  for (int r = 0; r < comm->size(); ++r) EXPECT_TRUE(all[r] == text(r)) << r;
  for (const std::string& none : comm->AllGather("", "nothing")) EXPECT_EQ(none, "");
}

inline void CheckBroadcast(Communicator* comm) {
  for (int root = 0; root < comm->size(); ++root) {
    std::string bytes = comm->rank() == root ? std::string("a\0b", 3) : "longer than the root's";
    comm->Broadcast(&bytes, root, "bytes");
    EXPECT_EQ(bytes, std::string("a\0b", 3));
    comm->Broadcast(&(bytes = comm->rank() == root ? "" : "x"), root, "nothing");
    EXPECT_EQ(bytes, "");
  }
}

// From every rank to every other, while the rest go on.
inline void CheckTransfer(Communicator* comm) {
  for (int from = 0; from < comm->size(); ++from) {
    for (int to = 0; to < comm->size(); ++to) {
      if (from == to) continue;
      for (int64_t count : {0, 1, 1000, 300000}) {
        std::vector<float> values(count);
        for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 1009 + comm->rank());
        comm->Transfer(from, to, values.data(), count, "values");
        const int source = comm->rank() == to ? from : comm->rank();
        int64_t wrong = 0;
        for (int64_t i = 0; i < count; ++i) {
          wrong += values[i] != static_cast<float>(i % 1009 + source);
        }
        EXPECT_EQ(wrong, 0) << count << " from " << from << " to " << to << " on " << comm->rank();
      }
    }
  }
}

inline void CheckEverything(Communicator* comm) {
  CheckExactSums(comm);
  CheckSameBits(comm);
  CheckCounters(comm);
  CheckAllGather(comm);
  CheckBroadcast(comm);
  CheckTransfer(comm);
  comm->Barrier("end of the checks");
}

}  // namespace gf
