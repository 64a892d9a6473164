#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "comm/gradient_flow.h"

namespace gf {

// Parameters of odd sizes, so that the pool has gaps.
inline PoolLayout OddLayout() {
  PoolLayout layout;
  int i = 0;
  for (int64_t count : {10, 1, 4097, 32, 33, 100000}) {
    PoolEntry entry;
    entry.name = "p" + std::to_string(i++);
    entry.shape = Shape{count};
    layout.Add(entry);
  }
  return layout;
}

// Several steps of a mode: each entry comes in exactly one bucket, in order, summed once over
// the ranks when its bucket is handed over.
inline void CheckSumsOnce(const std::string& mode, DType dtype, Communicator* comm) {
  const PoolLayout layout = OddLayout();
  std::vector<char> memory(layout.count() * SizeOf(dtype));
  Tensor gradients;
  gradients.desc.shape = Shape{layout.count()};
  gradients.desc.dtype = dtype;
  gradients.data = memory.data();
  const auto at = [&](int64_t i) {
    return dtype == DType::kFP32 ? gradients.as<float>()[i] : FromBF16(gradients.as<uint16_t>()[i]);
  };
  const auto flow = NewGradientFlow(mode, layout, gradients, comm);
  for (int step = 0; step < 3; ++step) {
    flow->BeginStep(step);
    // Small integers: exact in both types.
    for (size_t e = 0; e < layout.entries().size(); ++e) {
      const PoolEntry& entry = layout.entries()[e];
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        const float value = static_cast<float>((i + step + comm->rank()) % 8);
        if (dtype == DType::kFP32) {
          gradients.as<float>()[i] = value;
        } else {
          gradients.as<uint16_t>()[i] = ToBF16(value);
        }
      }
      if (e % 2 == 1) flow->GradientsReady({static_cast<int>(e) - 1, static_cast<int>(e)});
    }
    size_t next = 0;
    int64_t bytes = 0, buckets = 0, wrong = 0;
    flow->Finish([&](const Bucket& bucket) {
      ++buckets;
      bytes += bucket.count * SizeOf(dtype);
      EXPECT_EQ(bucket.first_entry, static_cast<int>(next));
      EXPECT_EQ(bucket.offset, layout.entries()[next].offset);
      for (int e = bucket.first_entry; e <= bucket.last_entry; ++e) {
        const PoolEntry& entry = layout.entries()[e];
        EXPECT_GE(bucket.offset + bucket.count, entry.offset + entry.count);
        for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
          float sum = 0;
          for (int r = 0; r < comm->size(); ++r) sum += static_cast<float>((i + step + r) % 8);
          wrong += at(i) != sum;
        }
      }
      next = bucket.last_entry + 1;
    });
    EXPECT_EQ(next, layout.entries().size());
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(buckets, static_cast<int64_t>(flow->Plan().size()));
    const bool alone = comm->size() == 1;
    EXPECT_EQ(flow->stats().allreduces, alone ? 0 : buckets);
    EXPECT_EQ(flow->stats().wire_bytes, alone ? 0 : bytes);
    EXPECT_GE(flow->stats().exposed_s, 0);
  }
}

}  // namespace gf
