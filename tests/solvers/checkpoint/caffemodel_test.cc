// Weights in Caffe's own files.

#include "solvers/checkpoint/caffemodel.h"

#include <gtest/gtest.h>

#include "solvers/checkpoint/weights_file.h"
#include "tests/solvers/checkpoint/caffemodel_for_test.h"

namespace gf {
namespace {

TEST_F(CaffeModelTest, GivesTheNetTheFilesWeightsAndStatistics) {
  const uint64_t version = net_->parameters()->version();
  const CaffeModelReport report = Load();
  EXPECT_TRUE(report.missing.empty());
  EXPECT_TRUE(report.unused.empty());
  EXPECT_TRUE(report.reads_color_images);
  EXPECT_GT(net_->parameters()->version(), version);
  ExpectLoaded();
  const Batch batch = RandomBatch(net_->input_shape(), 5);
  net_->Forward(batch);
  truth_->Forward(batch);
  EXPECT_EQ(net_->Logits(), truth_->Logits());
}

TEST_F(CaffeModelTest, AFactorOfZeroMeansStatisticsOfZero) {
  Layer("norm")->mutable_blobs(2)->set_data(0, 0);
  Load();
  EXPECT_EQ(Norm({*States(*net_).find("norm.running_mean")}), 0);
  EXPECT_EQ(Norm({*States(*net_).find("norm.running_var")}), 0);
}

TEST_F(CaffeModelTest, ReadsTheFourNumbersOfOldBlobs) {
  const auto old = [](BlobProto* blob, int n, int c, int h, int w) {
    blob->clear_shape();
    blob->set_num(n);
    blob->set_channels(c);
    blob->set_height(h);
    blob->set_width(w);
  };
  old(Layer("conv")->mutable_blobs(0), 6, 3, 3, 3);
  old(Layer("conv")->mutable_blobs(1), 1, 1, 1, 6);
  old(Layer("fc")->mutable_blobs(0), 1, 1, 5, 384);
  Load();
  ExpectLoaded();
}

TEST_F(CaffeModelTest, ReadsLayersOfTheV1Format) {
  WriteBytes(V1Model().SerializeAsString());
  const CaffeModelReport report =
      LoadCaffeModel(path_, {/*complete=*/false}, net_->parameters().get());
  EXPECT_EQ(report.missing.size(), 4u) << "parameters and statistics of the batch norm";
  EXPECT_TRUE(report.unused.empty());
  EXPECT_TRUE(report.reads_color_images);
  const Values got = Parameters(*net_);
  for (const char* name : {"conv.weight", "conv.bias", "fc.weight", "fc.bias"}) {
    EXPECT_EQ(got.at(name), values_.at(name)) << name;
  }
  NetParameter both = V1Model();
  *both.add_layer() = *Layer("fc");
  WriteBytes(both.SerializeAsString());
  EXPECT_TRUE(Has(ErrorOfFile(), "has layers of two forms"));
}

TEST_F(CaffeModelTest, ReadsDoubles) {
  BlobProto* blob = Layer("fc")->mutable_blobs(0);
  for (float value : blob->data()) blob->add_double_data(value);
  blob->clear_data();
  Load();
  ExpectLoaded();
}

TEST_F(CaffeModelTest, TheScaleOfABatchNormIsThatWhichReadsItsResultInPlace) {
  // As Caffe's users write it: everything in place, under the names of the blobs.
  Layer("norm")->set_top(0, "conv");
  Layer("scale")->set_bottom(0, "conv");
  Layer("scale")->set_top(0, "conv");
  Load();
  ExpectLoaded();
}

TEST_F(CaffeModelTest, ABatchNormOfNvcaffeHoldsItsScaleAndBias) {
  for (const BlobProto& blob : Layer("scale")->blobs()) *Layer("norm")->add_blobs() = blob;
  Layer("scale")->clear_blobs();
  Load();
  ExpectLoaded();
  Layer("norm")->mutable_blobs(3)->mutable_shape()->set_dim(0, 5);
  Layer("norm")->mutable_blobs(3)->mutable_data()->RemoveLast();
  EXPECT_TRUE(Has(LoadError(), "layer \"norm\" (BatchNorm): norm.weight: has the shape 5 in"));
}

TEST_F(CaffeModelTest, TheOnlyBlobOfABiasLayerIsItsBias) {
  const std::string text =
      kInputs + Simple("Bias", "shift", "x") + Inner("fc", "shift", 5) + Loss("loss", "fc");
  const auto net = NewNet(text, TestOptions(TEST));
  model_ = ParseNet(text, "test").param;
  AddBlob(Layer("shift"), {3}, {1, 2, 3});
  AddBlob(Layer("fc"), {5, 192}, std::vector<float>(5 * 192, 0.5f));
  AddBlob(Layer("fc"), {5}, {4, 5, 6, 7, 8});
  WriteBytes(model_.SerializeAsString());
  EXPECT_TRUE(LoadCaffeModel(path_, {}, net->parameters().get()).missing.empty());
  EXPECT_EQ(Parameters(*net).at("shift.bias"), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(Parameters(*net).at("fc.bias"), (std::vector<float>{4, 5, 6, 7, 8}));
}

TEST_F(CaffeModelTest, BgrExchangesTheChannelsThatReadTheImages) {
  Load({true, /*bgr=*/true});
  const auto got = Parameters(*net_);
  const std::vector<float>& rgb = values_.at("conv.weight");
  for (int i = 0; i < 6 * 27; ++i) {
    const int channel = i / 9 % 3;
    EXPECT_EQ(got.at("conv.weight")[i], rgb[i + 9 * (2 - 2 * channel)]) << i;
  }
  EXPECT_EQ(got.at("fc.weight"), values_.at("fc.weight"));
  // A file without data layers and inputs, as Caffe's deploy nets write.
  while (model_.layer(0).type() == "Input") model_.mutable_layer()->DeleteSubrange(0, 1);
  Load({true, /*bgr=*/true});
  EXPECT_EQ(Parameters(*net_).at("conv.weight"), got.at("conv.weight"));
  LayerParameter* const first = model_.mutable_layer(0);
  ASSERT_EQ(first->name(), "conv");
  first->set_bottom(0, "computed");
  LayerParameter* const before = model_.add_layer();
  before->set_type("Eltwise");
  before->set_name("before");
  before->add_bottom("x");
  before->add_top("computed");
  for (int i = model_.layer_size() - 1; i > 0; --i) model_.mutable_layer()->SwapElements(i, i - 1);
  EXPECT_TRUE(Has(LoadError({true, true}), "--bgr: no convolution of"));
}

TEST_F(CaffeModelTest, TheThreeChannelsOfADeconvolutionAreThoseOfItsTop) {
  Layer("conv")->set_type("Deconvolution");
  EXPECT_FALSE(Load().reads_color_images);
}

TEST_F(CaffeModelTest, LayersThatTheNetLacksAreLeftOut) {
  *model_.add_layer() = *Layer("fc");
  model_.mutable_layer(model_.layer_size() - 1)->set_name("aux/fc");
  EXPECT_EQ(Load().unused, std::vector<std::string>{"aux/fc"});
  ExpectLoaded();
}

TEST_F(CaffeModelTest, WhatTheFileLacksIsAnErrorOrStays) {
  Layer("fc")->set_name("fc8");
  EXPECT_TRUE(
      Has(LoadError(), "these parameters of the net are not in the file: fc.weight, fc.bias"));
  RandomParameters other;
  other.seed = 99;
  SetRandom(other, net_->parameters().get());
  const std::vector<float> before = Parameters(*net_).at("fc.weight");
  const CaffeModelReport report = Load({/*complete=*/false});
  EXPECT_EQ(report.missing, (std::vector<std::string>{"fc.weight", "fc.bias"}));
  EXPECT_EQ(Parameters(*net_).at("fc.weight"), before);
  EXPECT_EQ(Parameters(*net_).at("conv.weight"), values_.at("conv.weight"));
}

TEST_F(CaffeModelTest, SkippedTensorsStay) {
  BlobShape* shape = Layer("fc")->mutable_blobs(0)->mutable_shape();
  shape->set_dim(0, 384);
  shape->set_dim(1, 5);
  const std::string error = LoadError({/*complete=*/false});
  EXPECT_TRUE(Has(error, ", or leave its initial values with --weights_skip=\"fc.*\"")) << error;
  RandomParameters other;
  other.seed = 99;
  SetRandom(other, net_->parameters().get());
  const std::vector<float> before = Parameters(*net_).at("fc.weight");
  const CaffeModelReport report = Load({/*complete=*/false, /*bgr=*/false, {"fc.weight"}});
  EXPECT_EQ(report.skipped, (std::vector<std::string>{"fc.weight"}));
  EXPECT_EQ(Parameters(*net_).at("fc.weight"), before);
  EXPECT_EQ(Parameters(*net_).at("fc.bias"), values_.at("fc.bias"));
}

// Caffe writes the blobs of a shared parameter with each of its layers.
TEST_F(CaffeModelTest, LayersThatShareAParameterLoadItOnce) {
  const auto net = NewNet(R"(
    layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 1, 1, 2] } } }
    layer { name: "a" type: "InnerProduct" bottom: "x" top: "a" param { name: "w" }
            inner_product_param { num_output: 2 } }
    layer { name: "b" type: "InnerProduct" bottom: "a" top: "b" param { name: "w" }
            inner_product_param { num_output: 2 } })");
  NetParameter model;
  for (const char* name : {"a", "b"}) {
    LayerParameter* const layer = model.add_layer();
    layer->set_name(name);
    layer->set_type("InnerProduct");
    AddBlob(layer, {2, 2}, {1, 2, 3, 4});
    AddBlob(layer, {2}, name[0] == 'a' ? std::vector<float>{5, 6} : std::vector<float>{7, 8});
  }
  WriteBytes(model.SerializeAsString());
  const CaffeModelReport report = LoadCaffeModel(path_, {}, net->parameters().get());
  EXPECT_TRUE(report.missing.empty() && report.unused.empty());
  EXPECT_EQ(Parameters(*net),
            (Values{{"a.weight", {1, 2, 3, 4}}, {"a.bias", {5, 6}}, {"b.bias", {7, 8}}}));
}

TEST_F(CaffeModelTest, WeightsFilesAreToldApartByTheirNames) {
  EXPECT_TRUE(IsCaffeModel("a/b.caffemodel"));
  EXPECT_TRUE(IsCaffeModel("a/b.caffemodel.h5"));
  EXPECT_FALSE(IsCaffeModel("a.caffemodel/b.safetensors"));
  EXPECT_FALSE(IsCaffeModel("b.caffemodel.safetensors"));
  Layer("fc")->set_name("fc8");
  WriteBytes(model_.SerializeAsString());
  std::string notes;
  LoadWeightsFile(path_, {/*complete=*/false}, net_->parameters().get(),
                  [&](const std::string& text) { notes += text + "\n"; });
  EXPECT_TRUE(Has(notes, "so as initialized: fc.weight, fc.bias")) << notes;
  EXPECT_TRUE(Has(notes, "in the file, but not in the net: fc8")) << notes;
  EXPECT_TRUE(Has(notes, "add --bgr")) << notes;
  EXPECT_TRUE(Has(
      ErrorOf([&] {
        LoadWeightsFile("x.safetensors", {true, /*bgr=*/true}, net_->parameters().get(), nullptr);
      }),
      "--bgr goes with a file x.caffemodel"));
}

}  // namespace
}  // namespace gf
