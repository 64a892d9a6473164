// Nets of one job on the same parameters.

#include <gtest/gtest.h>

#include <string>

#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

TEST(NetSharingTest, ANetOnAnothersParametersFollowsThem) {
  const std::string text = kInputs + Conv("c", "x", 18) + Simple("BatchNorm", "n", "c") +
                           Simple("Scale", "s", "n", "scale_param { bias_term: true }") +
                           Inner("ip", "s", 5) + Loss("loss", "ip");
  for (DType compute : ComputeTypes()) {
    NetOptions options = TestOptions();
    options.compute = compute;
    const auto train = NewNet(text, options);
    train->InitParameters();
    NetOptions test_options = options;
    test_options.phase = TEST;
    test_options.batch_size = 7;
    const auto alone = NewNet(text, test_options);
    test_options.parameters = train->parameters();
    const auto shared = NewNet(text, test_options);
    EXPECT_EQ(shared->parameters(), train->parameters());
    const Batch batch = RandomBatch(shared->input_shape(), 5);
    shared->Forward(batch);
    const auto before = shared->Logits();
    RandomParameters other;
    other.seed = 11;
    SetRandom(other, train->parameters().get());
    Step(train.get());  // moves the running statistics
    shared->Forward(batch);
    EXPECT_NE(shared->Logits(), before);
    CopyParameters(*train, alone.get());
    alone->Forward(batch);
    EXPECT_LT(RelativeError(shared->Logits(), alone->Logits()),
              compute == DType::kFP32 ? 1e-6 : 1e-2);
  }
}

TEST(NetSharingTest, ADeconvolutionFollowsTheLayoutsOfAnotherNet) {
  for (const char* groups : {"", "group: 3"}) {
    const std::string param =
        StrCat("convolution_param { num_output: 21 kernel_size: 4 stride: 2 pad: 1 ", groups, " }");
    const std::string text = kInputs + Conv("c", "x", 18) +
                             Simple("Deconvolution", "up", "c", param) + Inner("ip", "up", 5) +
                             Loss("loss", "ip");
    const auto train = NewNet(text);
    train->InitParameters();
    SetRandom({}, train->parameters().get());
    NetOptions options = TestOptions(TEST);
    options.batch_size = 7;
    const auto alone = NewNet(text, options);
    CopyParameters(*train, alone.get());
    options.parameters = train->parameters();
    const auto shared = NewNet(text, options);
    const Batch batch = RandomBatch(shared->input_shape(), 5);
    shared->Forward(batch);
    alone->Forward(batch);
    EXPECT_LT(RelativeError(shared->Logits(), alone->Logits()), 1e-6) << groups;
  }
}

TEST(NetSharingTest, TwoTrainingNetsCanShareParameters) {
  const std::string text = Branches(Conv("trunk", "x", 16), {1});
  NetOptions options = TestOptions();
  const auto large = NewNet(text, options);
  large->InitParameters();
  options.parameters = large->parameters();
  options.batch_size = 2;
  const auto small = NewNet(text, options);
  Step(large.get());
  const Values gradients = Gradients(*large);
  Step(small.get());
  EXPECT_NE(Gradients(*large), gradients);
  Step(large.get());
  EXPECT_EQ(Gradients(*large), gradients);
}

TEST(NetSharingTest, ANetThatDoesNotFitAnothersParametersIsRefused) {
  const auto train = NewNet(kInputs + Inner("ip", "x", 5) + Loss("loss", "ip"));
  NetOptions options = TestOptions(TEST);
  options.parameters = train->parameters();
  EXPECT_TRUE(Has(Error(Inner("other", "x", 5), options),
                  "parameter other.weight does not exist in the training net"));
  EXPECT_TRUE(Has(Error(Inner("ip", "x", 6), options),
                  "parameter ip.weight is 6x192 here and 5x192 in the training net"));
  EXPECT_TRUE(Has(Error(Simple("BatchNorm", "n", "x") + Inner("ip", "n", 5), options),
                  "running_mean does not exist in the training net"));
}

TEST(NetSharingTest, ImagesOfOtherChannelsAreNamedByTheirSettings) {
  const auto text = [](int channels) {
    return StrCat("layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [4, ",
                  channels, ", 8, 8] } } }", Conv("c", "x", 6));
  };
  const auto train = NewNet(text(1));
  NetOptions options = TestOptions(TEST);
  options.parameters = train->parameters();
  const std::string error = ErrorOf([&] { NewNet(text(3), options); });
  EXPECT_TRUE(Has(error, "parameter c.weight is 6x3x3x3 here and 6x1x3x3 in the training net; if "))
      << error;
  EXPECT_TRUE(Has(error,
                  "set train_data.channels and validation_data.channels to one number, or "
                  "input { channels } in the job"))
      << error;
}

}  // namespace
}  // namespace gf
