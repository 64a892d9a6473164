#include <cmath>

#include "core/batch.h"
#include "tests/layers/device_test.h"

namespace gf {
namespace {

class AccuracyTest : public DeviceTest {
 protected:
  static LayerCase Accuracy(const std::string& fields, Shape scores, std::vector<int64_t> labels) {
    LayerCase test = Case("type: 'Accuracy' accuracy_param { " + fields + " }",
                          {std::move(scores), Shape{static_cast<int64_t>(labels.size())}});
    test.labels = std::move(labels);
    return test;
  }

  Values Run(LayerCase test, const Values& scores, int top = 0, const Batch* batch = nullptr) {
    RunOptions options = Options();
    options.batch = batch;
    options.backward = false;
    test.tops = 2;
    LayerRun run(test, options);
    run.SetBottom(0, scores);
    run.Forward();
    return run.Top(top);
  }
};

const Values kScores = {1, 3, 2,   //
                        5, 4, 3,   //
                        0, 1, -1,  //
                        1, 2, 3};

TEST_P(AccuracyTest, CountsLabelsAmongTheTopK) {
  const std::vector<int64_t> labels = {1, 1, 0, 0};
  EXPECT_EQ(Run(Accuracy("", {4, 3}, labels), kScores), (Values{0.25f}));
  EXPECT_EQ(Run(Accuracy("top_k: 2", {4, 3}, labels), kScores), (Values{0.75f}));
  EXPECT_EQ(Run(Accuracy("top_k: 3", {4, 3}, labels), kScores), (Values{1}));
}

TEST_P(AccuracyTest, SecondTopIsPerClass) {
  EXPECT_EQ(Run(Accuracy("", {4, 3}, {1, 0, 0, 0}), kScores, 1), (Values{1 / 3.f, 1, 0}));
}

TEST_P(AccuracyTest, LeavesOutIgnoredLabelsAndImagesThatFillUpTheBatch) {
  EXPECT_EQ(Run(Accuracy("ignore_label: 2", {4, 3}, {1, 2, 2, 0}), kScores), (Values{0.5f}));
  Batch batch;
  batch.images.desc.shape = {4, 1, 1, 1};
  batch.padding = 2;
  EXPECT_EQ(Run(Accuracy("", {4, 3}, {1, 0, -1, -1}), kScores, 0, &batch), (Values{1}));
}

TEST_P(AccuracyTest, TheLowerClassWinsATie) {
  const Values equal(6, 0.5f);
  EXPECT_EQ(Run(Accuracy("", {2, 3}, {0, 0}), equal), (Values{1}));
  EXPECT_EQ(Run(Accuracy("", {2, 3}, {0, 1}), equal), (Values{0.5f}));
  EXPECT_EQ(Run(Accuracy("top_k: 2", {2, 3}, {1, 2}), equal), (Values{0.5f}));
}

TEST_P(AccuracyTest, NanIsNeverRight) {
  EXPECT_EQ(Run(Accuracy("top_k: 3", {2, 3}, {0, 1}), Values(6, std::nanf(""))), (Values{0}));
  EXPECT_EQ(Run(Accuracy("", {1, 3}, {0}), {5, std::nanf(""), 1}), (Values{0}));
}

TEST_P(AccuracyTest, WorksPerPixel) {
  EXPECT_EQ(Run(Accuracy("", {1, 2, 3}, {0, 1, 1}), {3, 1, 5, 2, 4, 1}), (Values{2 / 3.f}));
}

TEST_P(AccuracyTest, RefusesInvalidShapesAndSettings) {
  ExpectSetUpError(Accuracy("top_k: 4", {4, 3}, {0, 0, 0, 0}), "must be in 1..3");
  ExpectSetUpError(Accuracy("top_k: 0", {4, 3}, {0, 0, 0, 0}), "must be in 1..3");
  ExpectSetUpError(Accuracy("", {4, 3}, {0, 0, 0}), "labels 3 are 3");
  LayerRun run(Accuracy("", {2, 3}, {0, 3}), [&] {
    RunOptions options = Options();
    options.backward = false;
    return options;
  }());
  EXPECT_THROW(run.Forward(), UserError);
}

GF_FOR_EVERY_DEVICE(AccuracyTest);

}  // namespace
}  // namespace gf
