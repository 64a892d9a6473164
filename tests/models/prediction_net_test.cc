#include "models/prediction_net.h"

#include <gtest/gtest.h>

#include <string>

#include "models/job_net.h"
#include "tests/models/net_for_test.h"

namespace gf {
namespace {

// The text as a checkpoint's file is read.
NetSource Reread(const NetParameter& net) { return ParseNet(net.DebugString(), "net.prototxt"); }

std::string Inner(const std::string& name, const std::string& rest = "") {
  return "layer { name: '" + name + "' type: 'InnerProduct' bottom: 'x' top: 'scores' " + rest +
         " inner_product_param { num_output: 5 } }\n";
}

constexpr char kLoss[] =
    "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'scores' bottom: 'y' }\n";

// A data layer per phase; neither states the size of its images.
constexpr char kData[] =
    "layer { name: 'd' type: 'Data' top: 'x' top: 'y' include { phase: TRAIN }\n"
    "  data_param { source: 'train' batch_size: 8 } transform_param { mirror: true } }\n"
    "layer { name: 'd' type: 'Data' top: 'x' top: 'y' include { phase: TEST }\n"
    "  data_param { source: 'val' batch_size: 4 } }\n";

TEST(PredictionNetTest, GivesTheSameScoresWithoutTheJob) {
  const NetSource net = ParseNet(std::string(kData) + Inner("ip") + kLoss, "net");
  NetOptions options = TestOptions(TEST);
  options.image_shape = {3, 4, 6};
  const auto before = NewNet(net, options);
  SetRandom({}, before->parameters().get());
  const NetParameter text = PredictionNet(net, {3, 4, 6});
  for (const LayerParameter& layer : text.layer()) EXPECT_NE(layer.type(), "Data");
  const auto after = NewNet(Reread(text), TestOptions(TEST));
  EXPECT_EQ(after->input_shape(), Shape({4, 3, 4, 6}));
  CopyParameters(*before, after.get());
  const Batch batch = RandomBatch({4, 3, 4, 6}, 5);
  before->Forward(batch);
  after->Forward(batch);
  EXPECT_EQ(before->Logits(), after->Logits());
}

TEST(PredictionNetTest, FillsInTheSizeThatTheJobLeavesToTheData) {
  const std::string inputs =
      "input: 'x' input_dim: 1 input_dim: 3 input_dim: 99 input_dim: 99\n"
      "layer { name: 'l' type: 'Input' top: 'y' input_param { shape { dim: 1 } } }\n";
  NetSource net = ParseNet(inputs + Inner("ip") + kLoss, "net");
  ChangeInput(InputConfig(), &net);
  const NetParameter text = PredictionNet(net, {1, 28, 20});
  EXPECT_EQ(text.input_size() + text.input_shape_size() + text.input_dim_size(), 0);
  EXPECT_EQ(NewNet(Reread(text), TestOptions(TEST))->input_shape(), Shape({1, 1, 28, 20}));
}

TEST(PredictionNetTest, KeepsTheNamesOfSharedParameters) {
  const std::string train = "include { phase: TRAIN } param { name: 'w' } param { name: 'b' }";
  const std::string test = "include { phase: TEST } param { name: 'w' } param { name: 'b' }";
  const std::string plain =
      "layer { name: 'p' type: 'Power' bottom: 'x' top: 'p' include { phase: TRAIN } }\n";
  const NetSource net =
      ParseNet(kData + Inner("first", train) + Inner("second", test) + plain + kLoss, "net");
  const NetParameter text = PredictionNet(net, {3, 4, 4});
  const Values parameters = Parameters(*NewNet(Reread(text), TestOptions(TEST)));
  EXPECT_EQ(parameters.count("first.weight"), 1u);
  for (const LayerParameter& layer : text.layer()) EXPECT_NE(layer.name(), "p");
}

TEST(PredictionNetTest, ReadsNoMatrixOfALoss) {
  const std::string loss =
      "layer { name: 'loss' type: 'InfogainLoss' bottom: 'scores' bottom: 'y'\n"
      "  infogain_loss_param { source: 'no such file' } }\n";
  const NetSource net = ParseNet(kData + Inner("ip") + loss, "net");
  const auto built = NewNet(Reread(PredictionNet(net, {3, 4, 4})), TestOptions(TEST));
  EXPECT_EQ(built->classes(), 5);
}

TEST(PredictionNetTest, NeedsAPhaseTest) {
  const std::string inputs =
      "layer { name: 'd' type: 'Data' top: 'x' top: 'y' include { phase: TRAIN } }\n";
  const NetSource net = ParseNet(inputs + Inner("ip") + kLoss, "net");
  EXPECT_NE(ErrorOf([&] { PredictionNet(net, {3, 4, 4}); }), "(no error)");
}

}  // namespace
}  // namespace gf
