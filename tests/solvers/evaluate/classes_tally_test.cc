#include "solvers/evaluate/classes_tally.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "comm/local/communicator.h"

namespace gf {
namespace {

using Rows = std::vector<std::vector<float>>;

LabelsOfImage From(const Rows& labels) {
  return [labels](int64_t image, std::vector<float>* to) { *to = labels[image]; };
}

Figure Find(const std::vector<Figure>& figures, const std::string& key) {
  for (const Figure& figure : figures) {
    if (figure.key == key) return figure;
  }
  ADD_FAILURE() << "no figure " << key;
  return {};
}

// The definition, threshold by threshold: sum of (R_n - R_(n-1)) P_n.
double Reference(const std::vector<std::pair<float, bool>>& scored) {
  std::vector<float> thresholds;
  double all = 0;
  for (const auto& [score, has] : scored) {
    thresholds.push_back(score);
    all += has;
  }
  std::sort(thresholds.begin(), thresholds.end(), std::greater<float>());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  double sum = 0, recall = 0;
  for (const float threshold : thresholds) {
    double right = 0, chosen = 0;
    for (const auto& [score, has] : scored) {
      if (score < threshold) continue;
      ++chosen;
      right += has;
    }
    sum += (right / all - recall) * (right / chosen);
    recall = right / all;
  }
  return sum;
}

TEST(AveragePrecisionTest, KnownValues) {
  // scikit-learn's example: average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]) = 0.83...
  std::vector<std::pair<float, bool>> scored = {
      {0.1f, false}, {0.4f, false}, {0.35f, true}, {0.8f, true}};
  EXPECT_NEAR(AveragePrecision(&scored), 0.8333333333, 1e-9);
  // Equal scores count together, whatever their order.
  scored = {{1, true}, {1, false}, {1, false}, {0, false}};
  EXPECT_NEAR(AveragePrecision(&scored), 1.0 / 3, 1e-12);
  scored = {{1, false}, {1, true}, {0, true}};
  EXPECT_NEAR(AveragePrecision(&scored), 0.5 * 0.5 + 0.5 * 2 / 3, 1e-12);
}

TEST(AveragePrecisionTest, EqualsItsDefinition) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<std::pair<float, bool>> scored = {{0.5f, true}};
    for (int i = 0; i < 40; ++i) {
      const auto score = static_cast<float>(random() % (trial % 2 == 0 ? 5 : 1000));
      scored.emplace_back(score, random() % 3 == 0);
    }
    const double expected = Reference(scored);
    EXPECT_NEAR(AveragePrecision(&scored), expected, 1e-12);
  }
}

TEST(ClassesTallyTest, MeanPrecisionExactMatchesAndLoss) {
  // Class 2 has no images and does not count in the mean.
  ClassesTally tally(4, 3, From({{0}, {0, 1}, {}, {1}}));
  tally.Add({2, -1, -3, -0.5f, 1, -2, 3, -1, -1}, Batch(), {0, 1, 2});
  tally.Add({-1, 2, -1}, Batch(), {3});
  RunLocal(1, 20, [&](Communicator* comm) { tally.Reduce(comm); });
  EXPECT_EQ(tally.images(), 4);
  EXPECT_EQ(tally.outputs(), 3);
  // Class 0: 3 (no), 2 (yes), -0.5 (yes), -1: (1/2 + 2/3) / 2. Class 1: 2 and 1, both right.
  const std::vector<Figure> all = tally.Figures();
  EXPECT_EQ(all[0].key, "mean_average_precision");
  EXPECT_NEAR(*all[0].value, ((0.5 + 2.0 / 3) / 2 + 1) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(*Find(all, "exact_match").value, 0.5);  // images 0 and 3
  EXPECT_EQ(*Find(tally.FiguresOf(0), "images").value, 2);
  EXPECT_FALSE(Find(tally.FiguresOf(2), "average_precision").value.has_value());
  const auto loss = [](double x, double label) { return std::log1p(std::exp(x)) - x * label; };
  const double sum = loss(2, 1) + loss(-1, 0) + loss(-3, 0) + loss(-0.5, 1) + loss(1, 1) +
                     loss(-2, 0) + loss(3, 0) + loss(-1, 0) + loss(-1, 0) + loss(-1, 0) +
                     loss(2, 1) + loss(-1, 0);
  EXPECT_NEAR(tally.loss(), sum / 4, 1e-9);
}

TEST(ClassesTallyTest, HugeScoresAndNan) {
  ClassesTally tally(2, 1, From({{0}, {}}));
  tally.Add({1e30f, NAN}, Batch(), {0, 1});
  RunLocal(1, 20, [&](Communicator* comm) { tally.Reduce(comm); });
  EXPECT_EQ(*Find(tally.Figures(), "mean_average_precision").value, 1);
  EXPECT_EQ(*Find(tally.Figures(), "exact_match").value, 0.5);
  EXPECT_TRUE(std::isnan(tally.loss()));
}

TEST(ClassesTallyTest, ImagesThatWereLeftOutDoNotCount) {
  ClassesTally tally(3, 1, From({{0}, {0}, {}}));
  tally.Add({-1, 1}, Batch(), {2, 0});
  RunLocal(1, 20, [&](Communicator* comm) { tally.Reduce(comm); });
  EXPECT_EQ(tally.images(), 2);
  EXPECT_EQ(*Find(tally.FiguresOf(0), "images").value, 1);
  EXPECT_EQ(*Find(tally.Figures(), "exact_match").value, 1);
}

// The same bits on any number of ranks, however many classes and images there are.
TEST(ClassesTallyTest, RanksAddUpExactly) {
  constexpr int64_t kImages = 37, kClasses = 5;
  std::mt19937 random(1);
  Rows labels(kImages), scores(kImages);
  for (int64_t i = 0; i < kImages; ++i) {
    for (int64_t c = 0; c < kClasses; ++c) {
      if (random() % 3 == 0) labels[i].push_back(static_cast<float>(c));
      scores[i].push_back(static_cast<float>(random() % 1000) * 0.01f - 5);
    }
  }
  std::vector<double> expected;
  for (const int world : {1, 2, 3, 7}) {
    RunLocal(world, 20, [&](Communicator* comm) {
      ClassesTally tally(kImages, kClasses, From(labels));
      for (int64_t i = comm->rank(); i < kImages; i += world) tally.Add(scores[i], Batch(), {i});
      tally.Reduce(comm);
      std::vector<double> figures = {tally.loss()};
      for (const Figure& figure : tally.Figures()) figures.push_back(*figure.value);
      for (int64_t c = 0; c < kClasses; ++c) figures.push_back(*tally.FiguresOf(c)[1].value);
      if (world == 1) expected = figures;
      EXPECT_EQ(figures, expected) << world;
    });
  }
}

}  // namespace
}  // namespace gf
