#include "data/prepare/draw.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "data/loader/loader.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

constexpr int kSize = 32, kClasses = 10, kFeatures = kSize * kSize * 3 + 1;

struct Samples {
  std::vector<float> features;  // count x kFeatures, the last of each 1
  std::vector<int> labels;
  int count() const { return static_cast<int>(labels.size()); }
  const float* row(int i) const { return &features[size_t(i) * kFeatures]; }
};

// `hint`: added to pixel `label`, which makes the classes linearly separable.
Samples Draw(int first, int count, float hint) {
  Samples samples;
  std::vector<uint8_t> pixels(kFeatures - 1);
  for (int i = first; i < first + count; ++i) {
    samples.labels.push_back(DrawImage(1, i, kSize, pixels.data()));
    const size_t start = samples.features.size();
    for (const uint8_t pixel : pixels) samples.features.push_back(pixel / 128.f - 1);
    samples.features.push_back(1);
    samples.features[start + samples.labels.back()] += hint;
  }
  return samples;
}

void Scores(const std::vector<float>& weights, const float* row, float* scores) {
  for (int k = 0; k < kClasses; ++k) {
    const float* w = &weights[size_t(k) * kFeatures];
    scores[k] = std::inner_product(row, row + kFeatures, w, 0.f);
  }
}

// Multinomial logistic regression by stochastic gradient descent; the share of `test` that
// it gets right.
double LinearAccuracy(const Samples& train, const Samples& test) {
  std::vector<float> weights(size_t{kClasses} * kFeatures);
  constexpr int kPasses = 8;
  for (int pass = 0; pass < kPasses; ++pass) {
    const float rate = 0.001f * (kPasses - pass) / kPasses;
    for (int i = 0; i < train.count(); ++i) {
      float scores[kClasses], sum = 0;
      Scores(weights, train.row(i), scores);
      const float top = *std::max_element(scores, scores + kClasses);
      for (float& score : scores) sum += score = std::exp(score - top);
      for (int k = 0; k < kClasses; ++k) {
        const float step = rate * (scores[k] / sum - (k == train.labels[i]));
        float* w = &weights[size_t(k) * kFeatures];
        for (int j = 0; j < kFeatures; ++j) w[j] -= step * train.row(i)[j];
      }
    }
  }
  int right = 0;
  for (int i = 0; i < test.count(); ++i) {
    float scores[kClasses];
    Scores(weights, test.row(i), scores);
    right += std::max_element(scores, scores + kClasses) - scores == test.labels[i];
  }
  return double(right) / test.count();
}

TEST(Draw, ALinearClassifierStaysBelowHalf) {
  const double accuracy = LinearAccuracy(Draw(0, 6000, 0), Draw(6000, 1500, 0));
  RecordProperty("linear_accuracy", std::to_string(accuracy));
  std::printf("linear classifier: %.1f %%\n", 100 * accuracy);
  EXPECT_LT(accuracy, 0.5);
}

TEST(Draw, TheLinearClassifierOfThisTestLearnsWhatIsLinear) {
  EXPECT_GT(LinearAccuracy(Draw(0, 3000, 8), Draw(3000, 500, 8)), 0.9);
}

TEST(Draw, ImagesAreAFunctionOfSeedAndIndex) {
  std::vector<uint8_t> a(kFeatures - 1), b(a), c(a), d(a);
  DrawImage(1, 5, kSize, a.data());
  DrawImage(1, 6, kSize, c.data());
  DrawImage(2, 5, kSize, d.data());
  DrawImage(1, 5, kSize, b.data());
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(a, d);
}

TEST(Draw, AllClassesAreAboutEquallyFrequent) {
  std::vector<uint8_t> pixels(kFeatures - 1);
  std::vector<int> counts(kClasses);
  for (int i = 0; i < 2000; ++i) ++counts.at(DrawImage(1, i, kSize, pixels.data()));
  for (const int count : counts) EXPECT_NEAR(count, 200, 60);
}

TEST(Draw, TheDataSetLoadsAndIsTheSameTwice) {
  TempFolder folder;
  DrawOptions options;
  options.folder = folder / "a";
  options.images = 50;
  DrawDataSet(options);
  options.folder = folder / "b";
  DrawDataSet(options);
  for (const char* name : {"train-000000.tar", "val-000000.tar", "classes.txt"}) {
    EXPECT_EQ(ReadFile(folder / "a/" + name), ReadFile(folder / "b/" + name)) << name;
    EXPECT_FALSE(ReadFile(folder / "a/" + name).empty());
  }
  DataConfig config;
  config.set_source(folder / "a/train-*.tar");
  config.set_batch_size(50);
  config.set_shuffle(false);
  Loader loader(config, {});
  EXPECT_EQ(loader.size(), 50);
  EXPECT_EQ(loader.class_names(), ShapeNames());
  const Batch& batch = loader.Next();
  std::vector<uint8_t> pixels(kFeatures - 1);
  EXPECT_EQ(DrawImage(1, 7, kSize, pixels.data()), batch.labels[7]);
  EXPECT_EQ(
      std::memcmp(pixels.data(), batch.images.as<uint8_t>() + 7 * pixels.size(), pixels.size()), 0);
}

}  // namespace
}  // namespace gf
