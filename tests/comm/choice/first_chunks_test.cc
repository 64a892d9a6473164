#include "comm/choice/first_chunks.h"

#include <gtest/gtest.h>

#include <vector>

#include "comm/local/communicator.h"
#include "core/tensor.h"
#include "tests/comm/wire/number_formats.h"

namespace gf {
namespace {

using Chunks = std::vector<int64_t>;

TEST(FirstChunksTest, AllRanksSendTheLargestChunksOfRankZero) {
  const std::vector<float> of_rank_0 = {0, 0, 0, -9, 5, -5, 1, 0, -7};  // norms 0, 9, 10, 1, 7
  const ChunkGrid grid(static_cast<int64_t>(of_rank_0.size()), 2);
  for (const DType type : {DType::kFP32, DType::kBF16}) {
    RunLocal(3, 60, [&](Communicator* ranks) {
      Numbers numbers(type, grid.count());
      for (int64_t i = 0; i < grid.count(); ++i) {
        numbers.Set(i, ranks->rank() == 0 ? of_rank_0[i] : 100.f * static_cast<float>(i == 0));
      }
      const Tensor gradients{{Shape{grid.count()}, type, Layout()}, numbers.data(), nullptr};
      const auto first = [&](double density, const Chunks& known) {
        return AgreeOnFirstChunks(gradients, grid, density, known, ranks);
      };
      EXPECT_EQ(first(0.4, {}), (Chunks{1, 2}));
      EXPECT_EQ(first(0.6, {}), (Chunks{1, 2, 4}));
      EXPECT_EQ(first(0.01, {}), (Chunks{2}));
      EXPECT_EQ(first(1, {}), (Chunks{0, 1, 2, 3, 4}));
      // Those that are known come first, and none of them is left out.
      EXPECT_EQ(first(0.6, {0, 3}), (Chunks{0, 2, 3}));
      EXPECT_EQ(first(0.2, {0, 3}), (Chunks{0, 3}));
    });
  }
}

}  // namespace
}  // namespace gf
