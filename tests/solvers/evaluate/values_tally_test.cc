#include "solvers/evaluate/values_tally.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "comm/local/communicator.h"
#include "core/error.h"

namespace gf {
namespace {

using Rows = std::vector<std::vector<float>>;

LabelsOfImage From(const Rows& labels) {
  return [labels](int64_t image, std::vector<float>* to) { *to = labels[image]; };
}

std::vector<double> ValuesOf(const std::vector<Figure>& figures) {
  std::vector<double> values;
  for (const Figure& figure : figures) values.push_back(figure.value.value_or(-99));
  return values;
}

void ExpectNear(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-9) << i;
}

TEST(ValuesTallyTest, ErrorsPerValueAndInAll) {
  // Differences 1, -2, 0 of the first value; 3, 3, 3 of the second, whose labels are all equal.
  ValuesTally tally(4, 2, From({{1, 5}, {2, 5}, {6, 5}, {9, 9}}));
  tally.Add({2, 8, 0, 8}, Batch(), {0, 1});
  tally.Add({6, 8, 100, 100}, Batch(), {2});
  RunLocal(1, 20, [&](Communicator* comm) { tally.Reduce(comm); });
  EXPECT_EQ(tally.images(), 3);
  EXPECT_TRUE(tally.outputs_are_values());
  const std::vector<Figure> all = tally.Figures();
  EXPECT_EQ(all[0].key, "rmse");
  EXPECT_EQ(all[1].key, "mae");
  EXPECT_EQ(all[2].key, "r2");
  // The first value's labels have the mean 3 and the spread 4 + 1 + 9.
  const double r2 = 1 - 5.0 / 14;
  ExpectNear(ValuesOf(tally.FiguresOf(0)), {std::sqrt(5.0 / 3), 1, r2});
  ExpectNear(ValuesOf(tally.FiguresOf(1)), {3, 3, -99});
  ExpectNear(ValuesOf(all), {std::sqrt((5.0 + 27) / 6), 12.0 / 6, r2});
  EXPECT_NEAR(tally.loss(), (5.0 + 27) / 2 / 3, 1e-12);
}

TEST(ValuesTallyTest, NothingSeenIsNoFigure) {
  ValuesTally tally(2, 1, From({{1}, {2}}));
  RunLocal(1, 20, [&](Communicator* comm) { tally.Reduce(comm); });
  EXPECT_EQ(tally.images(), 0);
  EXPECT_EQ(tally.loss(), 0);
  EXPECT_FALSE(tally.Figures()[0].value.has_value());
}

TEST(ValuesTallyTest, RanksAddUpExactly) {
  constexpr int64_t kImages = 41;
  std::mt19937 random(2);
  const auto number = [&] { return static_cast<float>(random() % 100000) * 0.001f; };
  Rows labels, outputs;
  for (int64_t i = 0; i < kImages; ++i) {
    labels.push_back({number(), number()});
    outputs.push_back({number(), number()});
  }
  std::vector<double> expected;
  for (const int world : {1, 2, 5}) {
    RunLocal(world, 20, [&](Communicator* comm) {
      ValuesTally tally(kImages, 2, From(labels));
      for (int64_t i = comm->rank(); i < kImages; i += world) tally.Add(outputs[i], Batch(), {i});
      tally.Reduce(comm);
      std::vector<double> figures = ValuesOf(tally.Figures());
      figures.push_back(tally.loss());
      if (world == 1) expected = figures;
      EXPECT_EQ(figures, expected) << world;
    });
  }
}

TEST(OutputTableTest, ATableBeyondMemoryIsRefused) {
  OutputTable::CheckMemory(1000, 10);
  EXPECT_THROW(OutputTable::CheckMemory(int64_t{1} << 40, 1 << 20), UserError);
}

TEST(FigureTest, TextsForPeople) {
  EXPECT_EQ(FigureText({"a", "a", Figure::kCount, 1234.0}), "1,234");
  EXPECT_EQ(FigureText({"a", "a", Figure::kShare, 0.1234}), "12.34 %");
  EXPECT_EQ(FigureText({"a", "a", Figure::kNumber, 0.25}), "0.25");
  EXPECT_EQ(FigureText({"a", "a", Figure::kNumber, std::nullopt}), "none");
}

}  // namespace
}  // namespace gf
