// SPARSE against the algorithm written out in double, and against LAZY.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "comm/local/communicator.h"
#include "comm/sparse/selection.h"
#include "core/error.h"
#include "core/random.h"
#include "tests/comm/flow/gradient_flow_checks.h"

namespace gf {
namespace {

constexpr int kSteps = 12;
constexpr float kMomentum = 0.9f;

float Gradient(int rank, int step, int64_t i) {
  const auto words = Philox(static_cast<uint64_t>(step), static_cast<uint64_t>(rank), i);
  // Some chunks matter more than others, and not always the same.
  const double weight = 1 + 10 * std::pow(std::sin(0.37 * static_cast<double>(i / 1000) + step), 8);
  return static_cast<float>(weight * (2 * ToUniform(words[0]) - 1));
}

GradientFlowOptions SparseOptions(double density, double warmup) {
  GradientFlowOptions options = FlowOptions(CommConfig::SPARSE);
  options.config.mutable_sparse()->set_density(density);
  options.config.mutable_sparse()->set_warmup_fraction(warmup);
  options.total_steps = kSteps;
  options.momentum = kMomentum;
  return options;
}

// One step of a flow on this rank; returns the ranges that were handed over.
std::vector<ElementRange> Step(TestFlow* f, int step, int rank) {
  f->flow->BeginStep(step);
  const auto& entries = f->layout.entries();
  for (size_t e = 0; e < entries.size(); ++e) {
    for (int64_t i = 0; i < entries[e].count; ++i) {
      f->Set(entries[e].offset + i, Gradient(rank, step, entries[e].offset + i));
    }
    f->flow->GradientsReady({static_cast<int>(e)});
  }
  std::vector<ElementRange> ranges;
  f->flow->Finish([&](const std::vector<ElementRange>& these) {
    ranges.insert(ranges.end(), these.begin(), these.end());
  });
  return ranges;
}

// What algorithm 1 of the paper says, for all ranks at once.
class Reference {
 public:
  Reference(const PoolLayout& layout, int world, const GradientFlowOptions& options)
      : layout_(layout),
        world_(world),
        options_(options),
        grid_(layout.count(), options.config.sparse().chunk_size()),
        set_(ChunkSet::All(grid_)),
        residual_(world, std::vector<double>(layout.count())) {}

  // The sums over the ranks, by element; NaN outside important chunks and entries.
  std::vector<double> Step(int step) {
    std::vector<double> sums(layout_.count(), std::nan(""));
    std::vector<double> norms(grid_.chunks());
    const SparseConfig& sparse = options_.config.sparse();
    const bool corrects = (!sparse.has_momentum_correction() || sparse.momentum_correction()) &&
                          options_.momentum > 0;
    const double correction = corrects ? kMomentum : 1;
    for (const PoolEntry& entry : layout_.entries()) {
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        const int64_t chunk = grid_.ChunkOf(i);
        double sum = 0;
        for (int r = 0; r < world_; ++r) {
          double& h = residual_[r][i];
          const double g = double{Gradient(r, step, i)} + h;
          if (set_.Contains(chunk)) {
            sum += g;
            h = 0;
          } else {
            h = correction * g;
            norms[chunk] += std::abs(g);
          }
        }
        if (!set_.Contains(chunk)) continue;
        sums[i] = sum;
        norms[chunk] += std::abs(sum);
      }
    }
    const SparseConfig& config = options_.config.sparse();
    const double density =
        DensityAt(step + 1, options_.total_steps, config.density(), config.warmup_fraction());
    set_ = SelectTop(std::vector<float>(norms.begin(), norms.end()).data(), grid_,
                     ChunksAt(density, grid_.chunks()));
    return sums;
  }

 private:
  const PoolLayout& layout_;
  const int world_;
  const GradientFlowOptions& options_;
  const ChunkGrid grid_;
  ChunkSet set_;
  std::vector<std::vector<double>> residual_;
};

class SparseFlowTest : public testing::TestWithParam<int> {};

void CheckAgainstReference(const GradientFlowOptions& options, int world) {
  RunLocal(world, 60, [&](Communicator* comm) {
    TestFlow f(OddLayout(), options, DType::kFP32, comm);
    Reference reference(f.layout, world, options);
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<ElementRange> ranges = Step(&f, step, comm->rank());
      std::vector<double> expected = reference.Step(step);
      int64_t before = 0;
      for (const ElementRange& range : ranges) {
        ASSERT_GE(range.begin, before);
        before = range.end;
        for (int64_t i = range.begin; i < range.end; ++i) {
          if (std::isnan(expected[i])) continue;  // a gap between entries
          ASSERT_NEAR(f.Get(i), expected[i], 1e-4) << "step " << step << ", element " << i;
          expected[i] = std::nan("");
        }
      }
      for (double left : expected) ASSERT_TRUE(std::isnan(left)) << "step " << step;
    }
  });
}

// A chunk's update applies the decay of all steps since the last one, also after a restart.
TEST_P(SparseFlowTest, DecayWaitsForItsChunk) {
  const GradientFlowOptions options = SparseOptions(0.15, 0.5);
  RunLocal(GetParam(), 60, [&](Communicator* comm) {
    TestFlow f(OddLayout(), options, DType::kFP32, comm);
    TestFlow other(OddLayout(), options, DType::kFP32, comm);
    const int64_t chunk = options.config.sparse().chunk_size();
    std::vector<int64_t> decayed((f.layout.count() + chunk - 1) / chunk);
    bool waited = false;
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps / 2) {
        const Tensor shared = f.flow->shared_state();
        std::memcpy(other.flow->shared_state().data, shared.data, shared.desc.bytes());
        other.flow->Restore(f.flow->important_chunks());
      }
      TestFlow* const now = step < kSteps / 2 ? &f : &other;
      const std::vector<ElementRange> ranges = Step(now, step, comm->rank());
      const DecaySteps decay = now->flow->decay_steps();
      ASSERT_EQ(decay.chunk, chunk);
      std::vector<bool> sent(decayed.size());
      for (const ElementRange& range : ranges) {
        for (int64_t i = range.begin; i < range.end; ++i) sent[i / chunk] = true;
      }
      for (size_t c = 0; c < decayed.size(); ++c) {
        if (!sent[c]) continue;
        const float steps = decay.steps.as<float>()[c];
        waited = waited || steps > 1;
        decayed[c] += static_cast<int64_t>(steps);
        ASSERT_EQ(decayed[c], step + 1) << "chunk " << c;
      }
    }
    EXPECT_TRUE(waited);
  });
}

TEST(SparseDecayTest, MayBeLeftToTheStepsThatUpdate) {
  GradientFlowOptions options = SparseOptions(0.15, 0);
  options.config.mutable_sparse()->set_catch_up_decay(false);
  RunLocal(2, 60, [&](Communicator* comm) {
    TestFlow f(OddLayout(), options, DType::kFP32, comm);
    EXPECT_EQ(f.flow->decay_steps().steps.data, nullptr);
    EXPECT_EQ(f.flow->shared_state().data, nullptr);
  });
}

TEST_P(SparseFlowTest, FollowsTheAlgorithm) {
  CheckAgainstReference(SparseOptions(0.15, 0), GetParam());
}

TEST_P(SparseFlowTest, FollowsTheAlgorithmWithWarmUp) {
  CheckAgainstReference(SparseOptions(0.15, 0.5), GetParam());
}

TEST_P(SparseFlowTest, FollowsTheAlgorithmWithoutMomentumCorrection) {
  GradientFlowOptions options = SparseOptions(0.3, 0.2);
  options.config.mutable_sparse()->set_momentum_correction(false);
  CheckAgainstReference(options, GetParam());
}

TEST_P(SparseFlowTest, WithoutMomentumResidualsStayWhole) {
  GradientFlowOptions options = SparseOptions(0.3, 0);
  options.momentum = 0;
  CheckAgainstReference(options, GetParam());
}

TEST_P(SparseFlowTest, TheChosenChunksAreTheSameOnAllRanks) {
  for (CommConfig::WireType wire : {CommConfig::FP32, CommConfig::BF16, CommConfig::FP16}) {
    RunLocal(GetParam(), 60, [&](Communicator* comm) {
      GradientFlowOptions options = SparseOptions(0.15, 0.3);
      options.config.set_wire_type(wire);
      TestFlow f(OddLayout(), options, DType::kBF16, comm);
      for (int step = 0; step < kSteps; ++step) {
        Step(&f, step, comm->rank());
        std::string mine;
        for (int64_t chunk : f.flow->important_chunks()) mine += StrCat(chunk, " ");
        for (const std::string& other : comm->AllGather(mine, "chunks")) ASSERT_EQ(other, mine);
        if (step > kSteps / 2) {
          EXPECT_LT(f.flow->important_chunks().size(), 20u);
        }
      }
    });
  }
}

TEST_P(SparseFlowTest, AtDensityOneItEqualsLazyBitForBit) {
  for (DType dtype : {DType::kFP32, DType::kBF16}) {
    RunLocal(GetParam(), 60, [&](Communicator* comm) {
      TestFlow sparse(OddLayout(), SparseOptions(1, 0), dtype, comm);
      TestFlow lazy(OddLayout(), FlowOptions(CommConfig::LAZY), dtype, comm);
      for (int step = 0; step < 50; ++step) {
        Step(&sparse, step, comm->rank());
        Step(&lazy, step, comm->rank());
        ASSERT_EQ(
            std::memcmp(sparse.gradients.data, lazy.gradients.data, lazy.gradients.desc.bytes()), 0)
            << "step " << step;
      }
    });
  }
}

TEST_P(SparseFlowTest, OnlyTheDensitysShareTravels) {
  RunLocal(GetParam(), 60, [&](Communicator* comm) {
    TestFlow f(OddLayout(), SparseOptions(0.15, 0), DType::kFP32, comm);
    for (int step = 0; step < kSteps; ++step) {
      Step(&f, step, comm->rank());
      const int64_t all = f.layout.count() * 4;
      if (step == 0) {
        EXPECT_GE(f.flow->stats().wire_bytes, 0.99 * all);
      } else {
        EXPECT_LE(f.flow->stats().wire_bytes, 0.17 * all);
      }
    }
  });
}

TEST_P(SparseFlowTest, ContinuesExactlyFromItsResidualAndChunks) {
  RunLocal(GetParam(), 60, [&](Communicator* comm) {
    TestFlow whole(OddLayout(), SparseOptions(0.15, 0.3), DType::kFP32, comm);
    TestFlow second(OddLayout(), SparseOptions(0.15, 0.3), DType::kFP32, comm);
    for (int step = 0; step < kSteps; ++step) {
      if (step == 6) {
        const Tensor from = whole.flow->residual(), to = second.flow->residual();
        std::memcpy(to.data, from.data, from.desc.bytes());
        second.flow->Restore(whole.flow->important_chunks());
      }
      const auto ranges = Step(&whole, step, comm->rank());
      if (step < 6) continue;
      ASSERT_EQ(Step(&second, step, comm->rank()), ranges);
      ASSERT_EQ(
          std::memcmp(whole.gradients.data, second.gradients.data, whole.gradients.desc.bytes()), 0)
          << "step " << step;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, SparseFlowTest, testing::Values(1, 2, 3, 4, 7));

TEST(SparseFlowErrorTest, SettingsOutOfRangeAreTheUsersError) {
  RunLocal(1, 60, [](Communicator* comm) {
    for (double density : {0.0, -1.0, 1.5}) {
      EXPECT_THROW(TestFlow(OddLayout(), SparseOptions(density, 0), DType::kFP32, comm), UserError);
    }
    EXPECT_THROW(TestFlow(OddLayout(), SparseOptions(0.5, 2), DType::kFP32, comm), UserError);
    GradientFlowOptions options = SparseOptions(0.5, 0);
    options.config.mutable_sparse()->set_chunk_size(0);
    EXPECT_THROW(TestFlow(OddLayout(), options, DType::kFP32, comm), UserError);
  });
}

}  // namespace
}  // namespace gf
