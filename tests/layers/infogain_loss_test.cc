#include <cmath>
#include <cstdio>
#include <fstream>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

struct Result {
  float loss = 0;
  Values gradient, probabilities;
};

class InfogainLossTest : public DeviceTest {
 protected:
  ~InfogainLossTest() override { std::remove(path_.c_str()); }

  // The matrix in a file; the layer's field that names it.
  std::string Write(const Values& matrix, const std::vector<int64_t>& dims) {
    BlobProto blob;
    for (const int64_t d : dims) blob.mutable_shape()->add_dim(d);
    for (const float value : matrix) blob.add_data(value);
    return Write(blob.SerializeAsString());
  }
  std::string Write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return StrCat("source: '", path_, "' ");
  }

  // A layer without a third bottom.
  static LayerCase Loss(const std::string& param, const Shape& scores, const Shape& label_shape,
                        const std::vector<int64_t>& labels) {
    LayerCase test = Case("type: 'InfogainLoss' " + param, {scores, label_shape});
    test.labels = labels;
    test.label_bottom = 1;
    return test;
  }
  static std::string Param(const std::string& fields) {
    return "infogain_loss_param { " + fields + "} ";
  }
  // The same with the matrix as third bottom.
  static LayerCase WithMatrix(LayerCase test, const Shape& matrix) {
    test.bottoms.push_back(matrix);
    return test;
  }

  Result Run(LayerCase test, const std::vector<Values>& bottoms, const Batch* batch = nullptr) {
    RunOptions options = Options();
    options.batch = batch;
    test.tops = 2;
    LayerRun run(test, options);
    for (size_t i = 0; i < bottoms.size(); ++i) {
      if (!test.IsLabel(static_cast<int>(i))) run.SetBottom(static_cast<int>(i), bottoms[i]);
    }
    run.Forward();
    Result result;
    result.loss = run.Top(0)[0];
    result.probabilities = run.Top(1);
    run.Backward();
    result.gradient = run.BottomDiff(0);
    EXPECT_FALSE(run.HasBottomDiff(1));
    return result;
  }

  // Of scores [outer][classes][inner], by the definition; in all, not divided.
  static Result Expected(const Values& x, const Values& matrix, const std::vector<int64_t>& labels,
                         int64_t outer, int64_t classes, int64_t inner) {
    Result result;
    result.gradient.resize(x.size());
    result.probabilities.resize(x.size());
    double loss = 0;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const auto at = [&](int64_t c) { return (o * classes + c) * inner + i; };
        const float* const row = matrix.data() + labels[o * inner + i] * classes;
        double sum = 0, row_sum = 0;
        for (int64_t c = 0; c < classes; ++c) {
          sum += std::exp(double{x[at(c)]});
          row_sum += row[c];
        }
        for (int64_t c = 0; c < classes; ++c) {
          const double p = std::exp(double{x[at(c)]}) / sum;
          loss -= row[c] * std::log(p);
          result.probabilities[at(c)] = static_cast<float>(p);
          result.gradient[at(c)] = static_cast<float>(p * row_sum - row[c]);
        }
      }
    }
    result.loss = static_cast<float>(loss);
    return result;
  }

  static void ExpectResult(const Result& got, Result expected, float divisor) {
    for (float& value : expected.gradient) value /= divisor;
    EXPECT_NEAR(got.loss, expected.loss / divisor, 1e-5 * std::fabs(expected.loss));
    ExpectNear(got.gradient, expected.gradient, 1e-5, "gradient");
    ExpectNear(got.probabilities, expected.probabilities, 1e-5, "probabilities");
  }

  const std::string path_ = StrCat(testing::TempDir(), "/infogain_", GetParam(), ".binaryproto");
};

// Mistakes cost what their row says.
const Values kMatrix = {1, 0.25f, -0.5f, 0, 2, 0.5f, 0.125f, 0, 3};

TEST_P(InfogainLossTest, IsItsFormulaWithTheMatrixOfAFile) {
  const std::vector<int64_t> labels = {0, 2, 1, 2};
  const Values x = RandomValues(12, 5, 3);
  const Result expected = Expected(x, kMatrix, labels, 4, 3, 1);
  for (const Shape& shape : {Shape{1, 1, 3, 3}, Shape{3, 3}, Shape{9}}) {
    const std::vector<int64_t>& dims = shape.dims();
    ExpectResult(Run(Loss(Param(Write(kMatrix, dims)), {4, 3}, {4}, labels), {x}), expected, 4);
  }
}

TEST_P(InfogainLossTest, IsItsFormulaWithTheMatrixOfABottom) {
  const std::vector<int64_t> labels = {0, 2, 1, 2};
  const Values x = RandomValues(12, 5, 3);
  const LayerCase test = WithMatrix(Loss("", {4, 3}, {4, 1}, labels), {1, 1, 3, 3});
  ExpectResult(Run(test, {x, {}, kMatrix}), Expected(x, kMatrix, labels, 4, 3, 1), 4);
  // Every call reads it anew, and the file is not opened.
  const Values other = {0, 1, 0, 0, 0, 1, 1, 0, 0};
  LayerRun run(WithMatrix(Loss(Param("source: '/none' "), {4, 3}, {4}, labels), {9}), Options());
  run.SetBottom(0, x);
  for (const Values& matrix : {kMatrix, other}) {
    run.SetBottom(2, matrix);
    run.Forward();
    const float expected = Expected(x, matrix, labels, 4, 3, 1).loss / 4;
    EXPECT_NEAR(run.Top(0)[0], expected, 1e-5 * std::fabs(expected));
    EXPECT_FALSE(run.HasBottomDiff(2));
  }
}

TEST_P(InfogainLossTest, TheAxisOfTheClassesMayBeAnother) {
  const std::vector<int64_t> labels = {0, 2, 1, 2, 1, 1, 0, 0};
  const Values x = RandomValues(24, 6, 2);
  const LayerCase inner = Loss(Param("axis: 1 " + Write(kMatrix, {3, 3})), {4, 3, 2}, {8}, labels);
  ExpectResult(Run(inner, {x}), Expected(x, kMatrix, labels, 4, 3, 2), 8);
  const LayerCase last = Loss(Param("axis: -1 " + Write(kMatrix, {3, 3})), {2, 4, 3}, {8}, labels);
  ExpectResult(Run(last, {x}), Expected(x, kMatrix, labels, 8, 3, 1), 8);
}

TEST_P(InfogainLossTest, TheIdentityGivesSoftmaxWithLoss) {
  const Values x = RandomValues(12, 7, 3), identity = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  LayerCase softmax = Loss("", {4, 3}, {4}, {0, 2, 1, 2});
  const Result got = Run(WithMatrix(softmax, {3, 3}), {x, {}, identity});
  softmax.prototxt = "type: 'SoftmaxWithLoss'";
  const Result expected = Run(softmax, {x});
  EXPECT_NEAR(got.loss, expected.loss, 1e-5 * expected.loss);
  ExpectNear(got.gradient, expected.gradient, 1e-5, "gradient");
}

// As in Caffe: the gradient is as if there were no bound.
TEST_P(InfogainLossTest, AProbabilityCountsAsAtLeast1em20) {
  const LayerCase test = WithMatrix(Loss("", {1, 2}, {1}, {0}), {2, 2});
  const Result got = Run(test, {{1000, 0}, {}, {0, 1, 5, 5}});
  EXPECT_NEAR(got.loss, -std::log(1e-20), 1e-4);
  EXPECT_EQ(got.gradient, (Values{1, -1}));
  EXPECT_TRUE(std::isnan(Run(test, {{std::nanf(""), 0}, {}, {1, 1, 1, 1}}).loss));
}

TEST_P(InfogainLossTest, FollowsIgnoreLabelAndNormalization) {
  const std::vector<int64_t> labels = {0, 1, 9, 2, 9, 1};
  const Values x = RandomValues(18, 5, 2);
  // Ignored predictions count nothing: a row of zeros.
  std::vector<int64_t> rows = labels;
  for (int64_t& label : rows) label = label == 9 ? 3 : label;
  Values matrix = kMatrix;
  matrix.insert(matrix.end(), 3, 0);
  const Result expected = Expected(x, matrix, rows, 3, 3, 2);
  const auto expect = [&](const std::string& fields, float divisor) {
    const std::string param = "loss_param { ignore_label: 9 " + fields + "} ";
    const LayerCase test = WithMatrix(Loss(param, {3, 3, 2}, {6}, labels), {3, 3});
    ExpectResult(Run(test, {x, {}, kMatrix}), expected, divisor);
  };
  expect("", 4);
  expect("normalization: FULL ", 6);
  expect("normalization: BATCH_SIZE ", 3);
  expect("normalization: NONE ", 1);
  expect("normalize: false ", 3);
}

TEST_P(InfogainLossTest, SamplesThatFillUpTheBatchDoNotCount) {
  Batch batch;
  batch.images.desc.shape = {3, 1, 1, 1};
  batch.padding = 1;
  const Values x = RandomValues(9, 5, 2);
  const LayerCase test = WithMatrix(Loss("", {3, 3}, {3}, {0, 1, 7}), {3, 3});
  const Result got = Run(test, {x, {}, kMatrix}, &batch);
  const Values first(x.begin(), x.begin() + 6);
  const Result expected = Expected(first, kMatrix, {0, 1}, 2, 3, 1);
  EXPECT_NEAR(got.loss, expected.loss / 2, 1e-5 * std::fabs(expected.loss));
  for (int i = 0; i < 9; ++i) {
    EXPECT_NEAR(got.gradient[i], i < 6 ? expected.gradient[i] / 2 : 0, 1e-5) << i;
  }
}

TEST_P(InfogainLossTest, NamesTheSampleWhoseLabelIsOutOfRange) {
  LayerRun run(WithMatrix(Loss("", {2, 3}, {2}, {1, 3}), {3, 3}), Options());
  try {
    run.Forward();
    FAIL() << "the label was taken";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("label 3 of sample 1 in the batch is outside 0..2"),
              std::string::npos)
        << e.what();
  }
}

TEST_P(InfogainLossTest, RefusesMatricesThatDoNotFit) {
  const auto expect = [&](const std::string& fields, const std::string& part) {
    ExpectSetUpError(Loss(Param(fields), {1, 3}, {1}, {0}), part);
  };
  const std::string source = "infogain_loss_param.source: ";
  expect("", "lacks its matrix: give infogain_loss_param.source, a binary BlobProto of 3x3 values");
  expect("source: '/none' ", source + "cannot open /none: ");
  expect(Write("no proto"), source + path_ + ": not a valid binary BlobProto");
  expect(Write({1, 2, 3, 4}, {2, 2}),
         source + path_ + ": its matrix is 2x2, expected 3x3 for 3 classes");
  expect(Write(Values(12, 1), {3, 4}), "its matrix is 3x4, expected 3x3 for 3 classes");
  expect(Write({1, 2, 3}, {3, 3}), "has 3 values, but its shape 3x3 takes 9");
  expect(Write(Values(9, std::nanf("")), {3, 3}), path_ + ": value 0 is ");
  ExpectSetUpError(WithMatrix(Loss("", {1, 3}, {1}, {0}), {3, 2}),
                   "bottom \"bottom2\", the matrix, is 3x2, expected 3x3 for 3 classes");
}

TEST_P(InfogainLossTest, RefusesFieldsThatDoNotFit) {
  const auto expect = [&](const std::string& param, const std::string& part) {
    ExpectSetUpError(WithMatrix(Loss(param, {1, 3}, {1}, {0}), {3, 3}), part);
  };
  expect("softmax_param { axis: 0 }", "softmax_param.axis is 0, but infogain_loss_param.axis");
  expect("loss_param { label_smoothing: 0.1 }", "label_smoothing does not go with this type");
  expect("loss_param { class_weight: [1, 1, 1] }", "class_weight does not go with this type");
  expect(Param("axis: 2 "), "axis 2 is out of range");
  ExpectSetUpError(WithMatrix(Loss("", {2, 3}, {3}, {0, 1, 2}), {3, 3}), "labels 3 are 3");
}

GF_FOR_EVERY_DEVICE(InfogainLossTest);

}  // namespace
}  // namespace gf
