#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "comm/sparse/kernels.h"
#include "comm/sparse/selection.h"
#include "comm/wire/wire.h"
#include "tests/comm/wire/number_formats.h"

namespace gf {
namespace {

constexpr int kRanks = 3, kSteps = 30;
constexpr double kDensity = 0.3, kWarmup = 0.2;
const ChunkGrid kGrid(1003, 50);

using Doubles = std::vector<double>;

// One rank, by the kernels.
struct Rank {
  explicit Rank(DType type) : g(type, kGrid.count()), h(DType::kFP32, kGrid.count()) {}

  void* gradient(int64_t i) { return static_cast<char*>(g.data()) + i * SizeOf(g.type()); }
  float* residual(int64_t i) { return static_cast<float*>(h.data()) + i; }

  Numbers g, h;
};

// Sparse communication of kRanks ranks, once by the kernels and once in doubles from its
// definition, which are held together in every step.
class Simulation {
 public:
  Simulation(DType gradient, DType packed, float momentum, double tolerance)
      : packed_type_(packed),
        functions_(ForTypes(Sparse(), gradient, packed)),
        momentum_(momentum),
        tolerance_(tolerance),
        set_(ChunkSet::All(kGrid)),
        ranks_(kRanks, Rank(gradient)),
        h_(kRanks, Doubles(kGrid.count())),
        generated_(kGrid.count()),
        sent_(kGrid.count()) {}

  template <class Draw>
  void Run(Draw draw) {
    for (int step = 0; step < kSteps; ++step) {
      std::vector<Doubles> g(kRanks, Doubles(kGrid.count()));
      for (int r = 0; r < kRanks; ++r) {
        for (int64_t i = 0; i < kGrid.count(); ++i) {
          ranks_[r].g.Set(i, draw());
          g[r][i] = ranks_[r].g.Get(i);
          generated_[i] += g[r][i];
        }
      }
      const int64_t next = ChunksAt(DensityAt(step + 1, kSteps, kDensity, kWarmup), kGrid.chunks());
      const ChunkSet by_kernels = StepByKernels(next), by_definition = StepInDoubles(g, next);
      ASSERT_EQ(by_kernels.ids(), by_definition.ids()) << "step " << step;
      for (int r = 0; r < kRanks; ++r) {
        for (int64_t i = 0; i < kGrid.count(); ++i) {
          ASSERT_NEAR(ranks_[r].h.Get(i), h_[r][i], tolerance_) << "step " << step << " " << i;
        }
      }
      set_ = by_kernels;
    }
  }

  const ChunkSet& set() const { return set_; }
  double generated(int64_t i) const { return generated_[i]; }
  double sent(int64_t i) const { return sent_[i]; }
  double kept(int64_t i) const {
    double sum = 0;
    for (const Rank& rank : ranks_) sum += rank.h.Get(i);
    return sum;
  }

 private:
  ChunkSet StepByKernels(int64_t next) {
    std::vector<float> norms(kGrid.chunks());
    for (int64_t chunk = 0; chunk < kGrid.chunks(); ++chunk) {
      const int64_t begin = kGrid.Begin(chunk), count = kGrid.End(chunk) - begin;
      if (!set_.Contains(chunk)) {
        for (Rank& rank : ranks_) {
          norms[chunk] += static_cast<float>(
              functions_.keep(rank.gradient(begin), rank.residual(begin), count, momentum_));
        }
        continue;
      }
      Numbers sum(packed_type_, count);
      for (Rank& rank : ranks_) {
        Numbers packed(packed_type_, count);
        functions_.pack(rank.gradient(begin), rank.residual(begin), packed.data(), count);
        for (int64_t i = 0; i < count; ++i) sum.Set(i, sum.Get(i) + packed.Get(i));
      }
      for (int64_t i = 0; i < count; ++i) sent_[begin + i] += sum.Get(i);
      for (Rank& rank : ranks_) {
        norms[chunk] +=
            static_cast<float>(functions_.unpack(sum.data(), rank.gradient(begin), count) / kRanks);
      }
    }
    return SelectTop(norms.data(), kGrid, next);
  }

  ChunkSet StepInDoubles(const std::vector<Doubles>& g, int64_t next) {
    std::vector<float> norms(kGrid.chunks());
    for (int64_t chunk = 0; chunk < kGrid.chunks(); ++chunk) {
      double norm = 0;
      for (int64_t i = kGrid.Begin(chunk); i < kGrid.End(chunk); ++i) {
        double sum = 0;
        for (int r = 0; r < kRanks; ++r) {
          const double corrected = g[r][i] + h_[r][i];
          sum += corrected;
          if (!set_.Contains(chunk)) norm += std::fabs(corrected);
          h_[r][i] = set_.Contains(chunk) ? 0 : static_cast<double>(momentum_) * corrected;
        }
        if (set_.Contains(chunk)) norm += std::fabs(sum);
      }
      norms[chunk] = static_cast<float>(norm);
    }
    return SelectTop(norms.data(), kGrid, next);
  }

  DType packed_type_;
  const SparseFunctions& functions_;
  float momentum_;
  double tolerance_;
  ChunkSet set_;
  std::vector<Rank> ranks_;
  std::vector<Doubles> h_;
  Doubles generated_, sent_;
};

// A chunk's gradients are of its own size, so that some chunks are rarely chosen.
class Draw {
 public:
  explicit Draw(bool integers) : integers_(integers) {}
  float operator()() {
    const float scale = 1 + static_cast<float>(kGrid.ChunkOf(drawn_++ % kGrid.count()) * 7 % 20);
    const float value = random_.Gaussian() * scale;
    return integers_ ? std::round(value / 2) : value;
  }

 private:
  bool integers_;
  Random random_{1, 1};
  int64_t drawn_ = 0;
};

TEST(ConservationTest, WithoutMomentumEveryGradientIsSentOrKept) {
  for (const DType gradient : {DType::kFP32, DType::kBF16}) {
    // Whole numbers: no sum is rounded.
    Simulation simulation(gradient, DType::kFP32, 1, 0);
    simulation.Run(Draw(true));
    if (HasFatalFailure()) return;
    int64_t kept = 0;
    for (int64_t i = 0; i < kGrid.count(); ++i) {
      EXPECT_EQ(simulation.sent(i) + simulation.kept(i), simulation.generated(i)) << i;
      kept += simulation.kept(i) != 0;
    }
    EXPECT_GT(kept, 0);
    EXPECT_EQ(simulation.set().ids().size(), 6u);  // round(0.3 * 21)
  }
}

TEST(ConservationTest, WithMomentumResidualsAndSetsFollowTheDefinition) {
  for (const DType gradient : {DType::kFP32, DType::kBF16}) {
    Simulation simulation(gradient, DType::kFP32, 0.9f, 1e-4);
    simulation.Run(Draw(false));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace gf
