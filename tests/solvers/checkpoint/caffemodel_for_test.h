#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "solvers/checkpoint/caffemodel.h"
#include "tests/models/layers_for_test.h"

namespace gf {

constexpr float kFactor = 4;  // of the batch norm's sums

inline std::string NetText() {
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

}  // namespace gf
