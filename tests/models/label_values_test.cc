// Nets whose labels are numbers: several classes per image, or real values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/graph.h"
#include "models/inputs.h"
#include "models/job_net.h"
#include "models/prediction_net.h"
#include "tests/models/net_for_test.h"

namespace gf {
namespace {

constexpr char kInputs[] =
    "layer { name: 'data' type: 'Input' top: 'x' input_param { shape { dim: [4, 3, 5, 5] } } }\n"
    "layer { name: 'label' type: 'Input' top: 'y' input_param { shape { dim: 4 } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip' inner_product_param { "
    "num_output: 3 weight_filler { type: 'xavier' } } }\n";

std::string Loss(const std::string& type, const std::string& bottoms = "bottom: 'ip' bottom: 'y'") {
  return StrCat("layer { name: 'loss' type: '", type, "' ", bottoms, " top: 'loss' }\n");
}

LabelConfig Labels(LabelConfig::Type type, int count) {
  LabelConfig labels;
  labels.set_type(type);
  labels.set_count(count);
  return labels;
}

NetOptions Options(LabelConfig::Type type, int count = 3, Phase phase = TRAIN) {
  NetOptions options = TestOptions(phase);
  options.labels = Labels(type, count);
  return options;
}

std::string Error(const std::string& text, const NetOptions& options) {
  return ErrorOf([&] { NewNet(text, options); });
}

void ExpectIn(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// Four images; the label values of image i are -i, 1 and 0.
Batch NewBatch() {
  Batch batch = RandomBatch({4, 3, 5, 5}, 3);
  for (int i = 0; i < 4; ++i) {
    for (const float value : {static_cast<float>(-i), 1.f, 0.f})
      batch.label_values.push_back(value);
  }
  return batch;
}

double LossOf(const std::string& type, double x, double label) {
  if (type == "EuclideanLoss") return (x - label) * (x - label) / 2;
  return std::log1p(std::exp(x)) - x * label;
}

TEST(LabelValuesTest, LossesReadThemAndPaddingDoesNotCount) {
  const std::pair<const char*, LabelConfig::Type> losses[] = {
      {"EuclideanLoss", LabelConfig::VALUES}, {"SigmoidCrossEntropyLoss", LabelConfig::CLASSES}};
  for (const auto& [type, labels] : losses) {
    for (const DType compute : ComputeTypes()) {
      NetOptions options = Options(labels);
      options.compute = compute;
      const auto net = NewNet(kInputs + Loss(type), options);
      net->InitParameters();
      EXPECT_EQ(net->classes(), 3);
      for (const int64_t padding : {0, 1, 3}) {
        Batch batch = NewBatch();
        batch.padding = padding;
        const double loss = net->Forward(batch).Value();
        const std::vector<float> outputs = net->Logits();
        ASSERT_EQ(outputs.size(), 12u);
        double expected = 0;
        for (int64_t i = 0; i < 3 * (4 - padding); ++i) {
          expected += LossOf(type, outputs[i], batch.label_values[i]);
        }
        expected /= static_cast<double>(4 - padding);
        EXPECT_NEAR(loss, expected, 1e-4 * std::max(1.0, expected)) << type << " " << padding;
      }
    }
  }
}

TEST(LabelValuesTest, GradientsFollowTheLoss) {
  const auto net = NewNet(kInputs + Loss("EuclideanLoss"), Options(LabelConfig::VALUES));
  net->InitParameters();
  const Batch batch = NewBatch();
  net->Forward(batch);
  net->Backward(1, nullptr);
  const std::vector<float> outputs = net->Logits();
  const std::vector<float> bias = Gradients(*net).at("ip.bias");
  for (int c = 0; c < 3; ++c) {
    double expected = 0;
    for (int i = 0; i < 4; ++i) expected += outputs[3 * i + c] - batch.label_values[3 * i + c];
    EXPECT_NEAR(bias[c], expected / 4, 1e-4);
  }
}

TEST(LabelValuesTest, TheOrderOfAPairDoesNotMatter) {
  const auto net = NewNet(kInputs + Loss("EuclideanLoss", "bottom: 'y' bottom: 'ip'"),
                          Options(LabelConfig::VALUES));
  net->InitParameters();
  net->Forward(NewBatch());
  EXPECT_EQ(net->Logits(), net->Blob("ip"));
}

TEST(LabelValuesTest, DeployNetsHaveOutputs) {
  const auto values = NewNet(kInputs, Options(LabelConfig::VALUES, 3, TEST));
  EXPECT_EQ(values->classes(), 3);
  const std::string sigmoid = "layer { name: 's' type: 'Sigmoid' bottom: 'ip' top: 'prob' }\n";
  const auto classes = NewNet(kInputs + sigmoid, Options(LabelConfig::CLASSES, 3, TEST));
  EXPECT_EQ(classes->classes(), 3);
  classes->InitParameters();
  classes->Forward(NewBatch());
  EXPECT_EQ(classes->Logits(), classes->Blob("ip"));
  EXPECT_EQ(NewNet(kInputs + sigmoid, TestOptions(TEST))->classes(), 0);
}

TEST(LabelValuesTest, MistakesAreNamed) {
  ExpectIn("holds labels of type CLASSES or VALUES, expected one class per image: use SigmoidCross",
           Error(kInputs + Loss("SoftmaxWithLoss"), Options(LabelConfig::CLASSES)));
  ExpectIn("layer \"loss\" (Accuracy): bottom \"y\" (4x3) holds labels of type",
           Error(kInputs + Loss("Accuracy"), Options(LabelConfig::CLASSES)));
  ExpectIn("if one of them holds labels of the data, set the job's classes",
           Error(kInputs + Loss("EuclideanLoss"), Options(LabelConfig::VALUES, 2)));
  ExpectIn("numbers if the job's data say labels { type: CLASSES } or VALUES",
           Error(kInputs + Loss("EuclideanLoss"), Options(LabelConfig::CLASS, 0)));
  ExpectIn("layer \"label\" holds labels of type VALUES, and how many numbers",
           Error(kInputs + Loss("EuclideanLoss"), Options(LabelConfig::VALUES, 0)));
}

std::string LabelShape(std::vector<GraphNode> nodes, const LabelConfig* labels) {
  SetInputs(8, Shape{3, 5, 5}, &nodes, labels);
  const InputParameter& input = nodes[1].param.input_param();
  const BlobShape& shape = input.shape(0);
  return StrCat(Shape(std::vector<int64_t>(shape.dim().begin(), shape.dim().end())).ToString(), " ",
                input.label_values());
}

TEST(LabelValuesTest, InputsFollowTheLabels) {
  const auto nodes = ResolveGraph(ParseNet(kInputs, "test.prototxt"), TRAIN);
  const LabelConfig values = Labels(LabelConfig::VALUES, 5), one = Labels(LabelConfig::CLASS, 0);
  EXPECT_EQ(LabelShape(nodes, &values), "8x5 5");
  EXPECT_EQ(LabelShape(nodes, &one), "8 0");
  EXPECT_EQ(LabelShape(nodes, nullptr), "8 0");
}

TEST(LabelValuesTest, TheNetForPredictionsKnowsThem) {
  const NetSource source = ParseNet(kInputs + Loss("EuclideanLoss"), "test.prototxt");
  const NetParameter net = PredictionNet(source, {3, 5, 5}, Labels(LabelConfig::VALUES, 3));
  NetOptions options = Options(LabelConfig::VALUES, 0, TEST);
  options.batch_size = 2;
  const auto built = NewNet(ParseNet(net.DebugString(), "again.prototxt"), options);
  EXPECT_EQ(built->classes(), 3);
  built->InitParameters();
  built->Forward(RandomBatch({2, 3, 5, 5}, 3));  // without labels
  EXPECT_EQ(built->Logits().size(), 6u);
}

TEST(LabelValuesTest, ClassesOfAJobChangeTheOutputs) {
  for (const auto& [type, loss] : {std::pair(LabelConfig::VALUES, "EuclideanLoss"),
                                   std::pair(LabelConfig::CLASSES, "SigmoidCrossEntropyLoss")}) {
    NetSource source = ParseNet(kInputs + Loss(loss), "test.prototxt");
    ChangeClasses(7, &source, type);
    EXPECT_EQ(NewNet(source, Options(type, 7))->classes(), 7);
    ExpectIn("the net has no Softmax", ErrorOf([&] { ChangeClasses(7, &source); }));
  }
}

TEST(LabelValuesTest, TheCountOfAJob) {
  JobConfig job;
  LabelConfig* const train = job.mutable_train_data()->mutable_labels();
  EXPECT_EQ(LabelsOf(job, TRAIN).type(), LabelConfig::CLASS);
  train->set_type(LabelConfig::CLASSES);
  EXPECT_EQ(LabelsOf(job, TRAIN).count(), 0);
  job.set_classes(6);
  EXPECT_EQ(LabelsOf(job, TRAIN).count(), 6);
  train->set_count(6);
  *job.mutable_validation_data()->mutable_labels() = Labels(LabelConfig::CLASSES, 0);
  EXPECT_EQ(LabelsOf(job, TEST).count(), 6);
}

}  // namespace
}  // namespace gf
