// Caffe's files that are damaged, hostile, or of another net.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>

#include "tests/solvers/checkpoint/caffemodel_for_test.h"

namespace gf {
namespace {

TEST_F(CaffeModelTest, AWrongShapeInTheV1FormatIsNamed) {
  NetParameter old = V1Model();
  old.mutable_layers(0)->mutable_blobs(1)->mutable_shape()->set_dim(0, 5);
  old.mutable_layers(0)->mutable_blobs(1)->mutable_data()->RemoveLast();
  WriteBytes(old.SerializeAsString());
  EXPECT_TRUE(Has(ErrorOfFile(), "layer \"conv\" (Convolution): conv.bias: has the shape 5 in"));
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

}  // namespace
}  // namespace gf
