// Weights in Caffe's own files.

#include "solvers/checkpoint/caffemodel.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "solvers/checkpoint/weights_file.h"
#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

constexpr float kFactor = 4;  // of the batch norm's sums

std::string NetText() {
  return kInputs + Conv("conv", "x", 6) + Simple("BatchNorm", "norm", "conv") +
         Simple("Scale", "scale", "norm", "scale_param { bias_term: true }") +
         Simple("ReLU", "relu", "scale") + Inner("fc", "relu", 5) + Loss("loss", "fc");
}

class CaffeModelTest : public testing::Test {
 protected:
  CaffeModelTest() : net_(NewNet(NetText(), TestOptions(TEST))), truth_(RandomNet()) {
    path_ = testing::TempDir() + "/" +
            testing::UnitTest::GetInstance()->current_test_info()->name() + ".caffemodel";
    for (const auto& entry : States(*truth_)) values_[entry.first] = entry.second;
    for (const auto& entry : Parameters(*truth_)) values_[entry.first] = entry.second;
    model_ = ParseNet(NetText(), "test").param;
    for (LayerParameter& layer : *model_.mutable_layer()) {
      if (layer.name() == "conv") {
        AddBlob(&layer, {6, 3, 3, 3}, values_.at("conv.weight"));
        AddBlob(&layer, {6}, values_.at("conv.bias"));
      } else if (layer.name() == "norm") {
        AddBlob(&layer, {6}, Times(kFactor, values_.at("norm.running_mean")));
        AddBlob(&layer, {6}, Times(kFactor, values_.at("norm.running_var")));
        AddBlob(&layer, {1}, {kFactor});
      } else if (layer.name() == "scale") {
        AddBlob(&layer, {6}, values_.at("norm.weight"));
        AddBlob(&layer, {6}, values_.at("norm.bias"));
      } else if (layer.name() == "fc") {
        AddBlob(&layer, {5, 384}, values_.at("fc.weight"));
        AddBlob(&layer, {5}, values_.at("fc.bias"));
      }
    }
  }

  static std::unique_ptr<Net> RandomNet() {
    auto net = NewNet(NetText(), TestOptions(TEST));
    SetRandom({}, net->parameters().get());
    return net;
  }

  static std::vector<float> Times(float factor, std::vector<float> values) {
    for (float& value : values) value *= factor;
    return values;
  }

  static void AddBlob(LayerParameter* layer, const std::vector<int64_t>& shape,
                      const std::vector<float>& values) {
    BlobProto* blob = layer->add_blobs();
    for (int64_t d : shape) blob->mutable_shape()->add_dim(d);
    for (float value : values) blob->add_data(value);
  }

  // The layers that Caffe's V1 format has, in it.
  NetParameter V1Model() {
    NetParameter old;
    for (const char* name : {"conv", "fc"}) {
      const LayerParameter& layer = *Layer(name);
      V1LayerParameter* const v1 = old.add_layers();
      v1->set_name(layer.name());
      v1->set_type(layer.type() == "Convolution" ? V1LayerParameter::CONVOLUTION
                                                 : V1LayerParameter::INNER_PRODUCT);
      *v1->mutable_bottom() = layer.bottom();
      *v1->mutable_top() = layer.top();
      *v1->mutable_blobs() = layer.blobs();
    }
    return old;
  }

  LayerParameter* Layer(const std::string& name) {
    for (LayerParameter& layer : *model_.mutable_layer()) {
      if (layer.name() == name) return &layer;
    }
    return nullptr;
  }

  void WriteBytes(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  CaffeModelReport Load(const CaffeModelOptions& options = {}) {
    WriteBytes(model_.SerializeAsString());
    return LoadCaffeModel(path_, options, net_->parameters().get());
  }

  // What loading says; the net must be as before.
  std::string LoadError(const CaffeModelOptions& options = {}) {
    WriteBytes(model_.SerializeAsString());
    return ErrorOfFile(options);
  }

  std::string ErrorOfFile(const CaffeModelOptions& options = {}) {
    const Values before = Parameters(*net_), states = States(*net_);
    const std::string error =
        ErrorOf([&] { LoadCaffeModel(path_, options, net_->parameters().get()); });
    EXPECT_EQ(Parameters(*net_), before);
    EXPECT_EQ(States(*net_), states);
    EXPECT_TRUE(Has(error, path_)) << error;
    return error;
  }

  void ExpectLoaded() {
    EXPECT_EQ(Parameters(*net_), Parameters(*truth_));
    EXPECT_EQ(States(*net_), States(*truth_));
  }

  std::string path_;
  std::unique_ptr<Net> net_, truth_;
  Values values_;
  NetParameter model_;
};

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

TEST_F(CaffeModelTest, AWrongShapeInTheV1FormatIsNamed) {
  NetParameter old = V1Model();
  old.mutable_layers(0)->mutable_blobs(1)->mutable_shape()->set_dim(0, 5);
  old.mutable_layers(0)->mutable_blobs(1)->mutable_data()->RemoveLast();
  WriteBytes(old.SerializeAsString());
  EXPECT_TRUE(Has(ErrorOfFile(), "layer \"conv\" (Convolution): conv.bias: has the shape 5 in"));
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

TEST_F(CaffeModelTest, AFileOfAnotherNetAltogetherIsRefused) {
  for (LayerParameter& layer : *model_.mutable_layer()) layer.set_name("my_" + layer.name());
  const std::string error = LoadError({/*complete=*/false});
  EXPECT_TRUE(Has(error, "none of its layers is in the net; the file has my_conv")) << error;
}

TEST_F(CaffeModelTest, ShapesThatDifferAreNamed) {
  BlobShape* shape = Layer("fc")->mutable_blobs(0)->mutable_shape();
  shape->set_dim(0, 384);
  shape->set_dim(1, 5);
  EXPECT_TRUE(Has(LoadError(),
                  "layer \"fc\" (InnerProduct): fc.weight: has the shape 384x5 in the file, "
                  "expected 5x384 in the net"));
}

TEST_F(CaffeModelTest, AWrongNumberOfBlobsIsNamed) {
  Layer("conv")->mutable_blobs()->RemoveLast();
  EXPECT_TRUE(Has(LoadError(),
                  "layer \"conv\" (Convolution): has 1 blobs, expected 2: conv.weight, conv.bias"));
  AddBlob(Layer("conv"), {6}, values_.at("conv.bias"));
  Layer("norm")->mutable_blobs()->RemoveLast();
  EXPECT_TRUE(Has(LoadError(), "layer \"norm\" (BatchNorm): has 2 blobs, expected 3"));
}

TEST_F(CaffeModelTest, BlobsThatContradictThemselvesAreRefused) {
  Layer("conv")->mutable_blobs(0)->mutable_data()->RemoveLast();
  EXPECT_TRUE(Has(LoadError(), "has 161 values, but its shape 6x3x3x3 takes 162"));
  BlobShape* shape = Layer("conv")->mutable_blobs(0)->mutable_shape();
  for (int64_t d : {int64_t{-6}, int64_t{0}, INT64_MAX}) {
    shape->set_dim(0, d);
    EXPECT_TRUE(Has(LoadError(), "impossible shape")) << d;
  }
}

TEST_F(CaffeModelTest, ALayerThatStandsTwiceIsRefused) {
  *model_.add_layer() = *Layer("fc");
  EXPECT_TRUE(Has(LoadError(), "fc.weight: is in the file twice"));
}

TEST_F(CaffeModelTest, TransposedWeightsAreRefused) {
  Layer("fc")->mutable_inner_product_param()->set_transpose(true);
  EXPECT_TRUE(Has(LoadError(), "has transposed weights"));
}

TEST_F(CaffeModelTest, AFileThatIsCutOffAnywhereIsRefused) {
  const std::string bytes = model_.SerializeAsString();
  const Values before = Parameters(*net_);
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 40) {
    WriteBytes(bytes.substr(0, size));
    EXPECT_NE(ErrorOf([&] { LoadCaffeModel(path_, {}, net_->parameters().get()); }), "(no error)")
        << size;
  }
  EXPECT_EQ(Parameters(*net_), before);
  WriteBytes(bytes.substr(0, bytes.size() / 2));
  EXPECT_TRUE(Has(ErrorOfFile(), "Perhaps an incomplete download or copy?"));
}

// Fields that Caffe may add: one of each kind of value, the last one is the end of the file.
TEST_F(CaffeModelTest, UnknownFieldsArePassedOver) {
  const std::string bytes = model_.SerializeAsString();
  const std::vector<std::string> fields = {std::string("\xc0\x3e\x96\x01", 4),  // varint
                                           std::string("\xc1\x3e"
                                                       "12345678",
                                                       10),  // 64 bits
                                           std::string("\xc2\x3e\x03"
                                                       "abc",
                                                       6),
                                           std::string("\xc5\x3e"
                                                       "1234",
                                                       6)};  // text, 32 bits
  for (const std::string& field : fields) {
    WriteBytes(field + bytes + field);
    LoadCaffeModel(path_, {}, net_->parameters().get());
    ExpectLoaded();
    WriteBytes(bytes + field.substr(0, field.size() - 1));
    EXPECT_TRUE(Has(ErrorOfFile(), "Perhaps an incomplete download or copy?"));
  }
  // A group, a field of number 0, and a length that leads out of the file.
  for (const char* text : {"\xc3\x3e",
                           "\x02\x01"
                           "a",
                           "\xc2\x3e\xff\xff\xff\xff\x07"}) {
    WriteBytes(bytes + text);
    EXPECT_TRUE(Has(ErrorOfFile(), "not a valid Caffe model")) << text;
  }
}

TEST_F(CaffeModelTest, DamagedBytesDoNoHarm) {
  const std::string bytes = model_.SerializeAsString();
  for (size_t i = 0; i < bytes.size(); i += 1 + i / 20) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xa5);
    WriteBytes(damaged);
    // Most damage shows; some only changes a weight.
    ErrorOf([&] { LoadCaffeModel(path_, {}, net_->parameters().get()); });
  }
}

TEST_F(CaffeModelTest, OtherFormatsAreRefusedWithAdvice) {
  WriteBytes("layer { name: \"conv\" }");
  EXPECT_TRUE(Has(ErrorOfFile(), "not a valid Caffe model (binary NetParameter)"));
  WriteBytes("\n\004test");  // a name and nothing else
  EXPECT_TRUE(Has(ErrorOfFile(), "it has no layers"));
  WriteBytes("\n\004test\022\003abc");  // field 2, "layers"
  EXPECT_TRUE(Has(ErrorOfFile(), "layer number 1 is damaged"));
  WriteBytes(std::string("\022\002\n\000", 4));  // "layers", and in them field 1, "layer"
  EXPECT_TRUE(Has(ErrorOfFile(), "is in Caffe's V0 format"));
  EXPECT_TRUE(Has(ErrorOfFile(), "upgrade_net_proto_binary"));
  WriteBytes("\x89HDF\r\n\x1a\n and more");
  EXPECT_TRUE(Has(ErrorOfFile(), "HDF5"));
  std::filesystem::remove(path_);
  EXPECT_TRUE(Has(ErrorOfFile(), "cannot open"));
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
