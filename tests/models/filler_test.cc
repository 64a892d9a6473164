#include "models/filler.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "tests/models/net_for_test.h"

namespace gf {
namespace {

FillerParameter Filler(const std::string& text) {
  FillerParameter filler;
  ParseTextProto(text, "filler", &filler);
  return filler;
}

struct Moments {
  double mean = 0, std = 0, skew = 0, kurtosis = 0;
};

Moments Measure(const std::vector<float>& values) {
  Moments m;
  for (float v : values) m.mean += v;
  m.mean /= values.size();
  double second = 0, third = 0, fourth = 0;
  for (float v : values) {
    const double d = v - m.mean;
    second += d * d, third += d * d * d, fourth += d * d * d * d;
  }
  second /= values.size();
  m.std = std::sqrt(second);
  m.skew = third / values.size() / std::pow(second, 1.5);
  m.kurtosis = fourth / values.size() / (second * second);
  return m;
}

const Shape kLarge{200, 50, 5, 5};  // 250,000 values, 1,250 inputs, 5,000 outputs per channel

TEST(FillerTest, ConstantIsTheValue) {
  EXPECT_EQ(Fill(Filler("value: 2.5"), Shape{3}, 1, "a"), std::vector<float>(3, 2.5f));
  EXPECT_EQ(Fill(FillerParameter(), Shape{2}, 1, "a"), std::vector<float>(2, 0.f));
}

TEST(FillerTest, GaussianHasItsMomentsAndItsTails) {
  const auto values = Fill(Filler("type: 'gaussian' mean: 3 std: 0.5"), kLarge, 1, "a");
  const Moments m = Measure(values);
  EXPECT_NEAR(m.mean, 3, 0.004);
  EXPECT_NEAR(m.std, 0.5, 0.003);
  EXPECT_NEAR(m.skew, 0, 0.02);
  EXPECT_NEAR(m.kurtosis, 3, 0.05);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 3 + 4 * 0.5);
}

TEST(FillerTest, NeighborsOfAGaussianAreNotCorrelated) {
  const auto values = Fill(Filler("type: 'gaussian'"), kLarge, 1, "a");
  for (int lag : {1, 2, 3, 4, 50}) {
    double sum = 0;
    for (size_t i = lag; i < values.size(); ++i) sum += values[i] * values[i - lag];
    EXPECT_NEAR(sum / values.size(), 0, 0.01) << lag;
  }
}

TEST(FillerTest, UniformFillsItsRange) {
  const auto values = Fill(Filler("type: 'uniform' min: -1 max: 3"), kLarge, 1, "a");
  const Moments m = Measure(values);
  EXPECT_NEAR(m.mean, 1, 0.01);
  EXPECT_NEAR(m.std, 4 / std::sqrt(12.0), 0.01);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -1);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 3);
}

TEST(FillerTest, XavierAndMsraScaleByTheChosenFan) {
  const double in = 1250, out = 5000;
  for (const auto& fan : std::vector<std::pair<std::string, double>>{
           {"", in}, {"variance_norm: FAN_OUT", out}, {"variance_norm: AVERAGE", (in + out) / 2}}) {
    const auto xavier = Fill(Filler("type: 'xavier' " + fan.first), kLarge, 1, "a");
    const double limit = std::sqrt(3 / fan.second);
    EXPECT_NEAR(Measure(xavier).std, limit / std::sqrt(3.0), 0.01 * limit);
    EXPECT_LE(*std::max_element(xavier.begin(), xavier.end()), limit * 1.0001);
    const auto msra = Fill(Filler("type: 'msra' " + fan.first), kLarge, 1, "a");
    const double std = std::sqrt(2 / fan.second);
    EXPECT_NEAR(Measure(msra).std, std, 0.01 * std);
    EXPECT_NEAR(Measure(msra).kurtosis, 3, 0.05);
  }
}

TEST(FillerTest, ASparseGaussianKeepsTheGivenNumberOfOutputsPerInput) {
  const Shape shape{50, 20000};
  const auto all = Fill(Filler("type: 'gaussian'"), shape, 1, "a");
  const auto sparse = Fill(Filler("type: 'gaussian' sparse: 15"), shape, 1, "a");
  int64_t kept = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (sparse[i] == 0) continue;
    EXPECT_EQ(sparse[i], all[i]);
    ++kept;
  }
  EXPECT_NEAR(static_cast<double>(kept) / 20000, 15, 0.15);
  for (float value : Fill(Filler("type: 'gaussian' sparse: 0"), Shape{5, 100}, 1, "a")) {
    EXPECT_EQ(value, 0);
  }
  EXPECT_EQ(Fill(Filler("type: 'gaussian' sparse: 50"), Shape{50, 100}, 1, "a"),
            Fill(Filler("type: 'gaussian'"), Shape{50, 100}, 1, "a"));
}

TEST(FillerTest, EachRowOfAPositiveUnitballSumsToOne) {
  const auto values = Fill(Filler("type: 'positive_unitball'"), Shape{3, 100}, 1, "a");
  for (int i = 0; i < 3; ++i) {
    double sum = 0;
    for (int j = 0; j < 100; ++j) {
      EXPECT_GE(values[i * 100 + j], 0);
      sum += values[i * 100 + j];
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST(FillerTest, BilinearIsTheUpsamplingFilter) {
  const auto values = Fill(Filler("type: 'bilinear'"), Shape{2, 1, 4, 4}, 1, "a");
  const float side[] = {0.25f, 0.75f, 0.75f, 0.25f};
  for (int i = 0; i < 32; ++i) EXPECT_FLOAT_EQ(values[i], side[i % 4] * side[i / 4 % 4]) << i;
}

TEST(FillerTest, BinomialFiltersBlur) {
  const auto values = Fill(Filler("type: 'binomial'"), Shape{2, 1, 3, 3}, 1, "a");
  const float side[] = {0.25f, 0.5f, 0.25f};
  for (int i = 0; i < 18; ++i) EXPECT_FLOAT_EQ(values[i], side[i % 3] * side[i / 3 % 3]) << i;
  const auto wide = Fill(Filler("type: 'binomial'"), Shape{1, 1, 5, 5}, 1, "a");
  EXPECT_FLOAT_EQ(wide[12], 36 / 256.f);
  EXPECT_FLOAT_EQ(wide[0], 1 / 256.f);
  EXPECT_EQ(Fill(Filler("type: 'binomial'"), Shape{2, 2, 1, 1}, 1, "a"),
            std::vector<float>(4, 1.f));
  EXPECT_EQ(FillerMistake(Filler("type: 'binomial'"), Shape{2, 1, 3, 5}),
            "a binomial filler needs square filters, got 2x1x3x5");
}

TEST(FillerTest, DiracFiltersPassTheirInputsOn) {
  // 3 outputs of 2 inputs.
  const Shape shape{3, 2, 3, 2};
  const auto check = [&](const std::vector<float>& values, int64_t filters) {
    for (int64_t i = 0; i < filters * 12; ++i) {
      const int64_t output = i / 12, input = i / 6 % 2, place = i % 6;
      EXPECT_EQ(values[i], output == input && place == 3 ? 1 : 0) << i;
    }
  };
  const auto zeros = Fill(Filler("type: 'dirac'"), shape, 1, "a");
  check(zeros, 2);
  EXPECT_EQ(std::vector<float>(zeros.begin() + 24, zeros.end()), std::vector<float>(12));
  const auto uniform = Fill(Filler("type: 'dirac' min: -0.5 max: 0.25"), shape, 1, "a");
  check(uniform, 2);
  EXPECT_EQ(std::vector<float>(uniform.begin() + 24, uniform.end()), [&] {
    const auto all = Fill(Filler("type: 'uniform' min: -0.5 max: 0.25"), shape, 1, "a");
    return std::vector<float>(all.begin() + 24, all.end());
  }());
  check(Fill(Filler("type: 'dirac'"), Shape{1, 2, 3, 2}, 1, "a"), 1);
  EXPECT_EQ(FillerMistake(Filler("type: 'dirac'"), Shape{4, 4}),
            "a dirac filler needs the weights of a convolution, got 4x4");
}

TEST(FillerTest, ValuesDependOnSeedAndNameOnly) {
  const FillerParameter filler = Filler("type: 'gaussian'");
  const auto values = Fill(filler, Shape{1001}, 1, "a");
  EXPECT_EQ(Fill(filler, Shape{1001}, 1, "a"), values);
  EXPECT_NE(Fill(filler, Shape{1001}, 2, "a"), values);
  EXPECT_NE(Fill(filler, Shape{1001}, 1, "b"), values);
  const auto more = Fill(filler, Shape{2, 1001}, 1, "a");
  EXPECT_TRUE(std::equal(values.begin(), values.end(), more.begin()));
}

TEST(FillerTest, ValuesDoNotDependOnTheNumberOfThreads) {
  const int threads = omp_get_max_threads();
  for (const char* type : {"gaussian", "uniform", "msra"}) {
    const FillerParameter filler = Filler(StrCat("type: '", type, "'"));
    omp_set_num_threads(1);
    const auto one = Fill(filler, Shape{7, 1001}, 1, "a");
    omp_set_num_threads(3);
    EXPECT_EQ(Fill(filler, Shape{7, 1001}, 1, "a"), one) << type;
  }
  omp_set_num_threads(threads);
}

TEST(FillerTest, UnknownTypesAndUnusableSettingsAreRefusedByName) {
  const auto error = [](const std::string& text, const Shape& shape) {
    return ErrorOf([&] { Fill(Filler(text), shape, 1, "fc.weight"); });
  };
  const std::string unknown = error("type: 'gausian'", Shape{4});
  EXPECT_NE(unknown.find("fc.weight"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("unknown filler type \"gausian\"; did you mean \"gaussian\"?"),
            std::string::npos)
      << unknown;
  EXPECT_NE(error("type: 'gaussian' std: -1", Shape{4}).find("std"), std::string::npos);
  EXPECT_NE(error("type: 'bilinear'", Shape{4, 4}).find("square"), std::string::npos);
}

}  // namespace
}  // namespace gf
