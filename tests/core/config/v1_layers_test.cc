#include "core/config/v1_layers.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "core/config/config.h"
#include "core/error.h"

namespace gf {
namespace {

using google::protobuf::FieldDescriptor;

// The layers of a net, in one form for both formats.
std::string Layers(const std::string& text) {
  const NetSource net = ParseNet(text, "net.prototxt");
  EXPECT_EQ(net.param.layers_size(), 0);
  return net.param.DebugString();
}

std::string NetError(const std::string& text) {
  try {
    ParseNet(text, "net.prototxt");
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(V1LayersTest, ANetReadsAsIfWrittenToday) {
  EXPECT_EQ(Layers(R"(
              name: "net"
              layers {
                name: "data" type: DATA top: "data" top: "label" include: { phase: TRAIN }
                data_param { source: "x" batch_size: 64 scale: 0.5 mean_file: "m" crop_size: 27
                             mirror: true backend: LMDB } }
              layers {
                name: "conv" type: CONVOLUTION bottom: "data" top: "conv"
                blobs_lr: 1 blobs_lr: 2 weight_decay: 1 weight_decay: 0
                convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "msra" } }
                blobs { num: 1 channels: 1 height: 1 width: 2 data: 3 data: 4 } }
              layers {
                name: "loss" type: SOFTMAX_LOSS bottom: "conv" bottom: "label" top: "loss"
                loss_weight: 0.5 exclude: { phase: TEST } loss_param { ignore_label: 7 } })"),
            Layers(R"(
              name: "net"
              layer {
                name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
                data_param { source: "x" batch_size: 64 scale: 0.5 mean_file: "m" crop_size: 27
                             mirror: true backend: LMDB } }
              layer {
                name: "conv" type: "Convolution" bottom: "data" top: "conv"
                param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
                convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "msra" } }
                blobs { num: 1 channels: 1 height: 1 width: 2 data: 3 data: 4 } }
              layer {
                name: "loss" type: "SoftmaxWithLoss" bottom: "conv" bottom: "label" top: "loss"
                loss_weight: 0.5 exclude { phase: TEST } loss_param { ignore_label: 7 } })"));
}

TEST(V1LayersTest, SettingsOfParametersMayDifferInNumber) {
  const auto old = [](const std::string& settings) {
    return Layers("layers { " + settings + " }");
  };
  const auto today = [](const std::string& params) { return Layers("layer { " + params + " }"); };
  EXPECT_EQ(old("blobs_lr: 0 blobs_lr: 2"), today("param { lr_mult: 0 } param { lr_mult: 2 }"));
  EXPECT_EQ(old("blobs_lr: 3 weight_decay: 1 weight_decay: 0"),
            today("param { lr_mult: 3 decay_mult: 1 } param { decay_mult: 0 }"));
  EXPECT_EQ(old("param: 'w' param: 'b' blob_share_mode: PERMISSIVE blobs_lr: 3"),
            today("param { name: 'w' share_mode: PERMISSIVE lr_mult: 3 } param { name: 'b' }"));
}

TEST(V1LayersTest, EveryTypeHasTodaysName) {
  const auto* const types = V1LayerParameter::LayerType_descriptor();
  EXPECT_EQ(types->value_count(), 40);
  for (int i = 0; i < types->value_count(); ++i) {
    const std::string& old = types->value(i)->name();
    std::string expected, today;
    for (unsigned char c : old) {
      if (c != '_') expected += static_cast<char>(std::tolower(c));
    }
    if (old == "NONE") expected = "";
    if (old == "SOFTMAX_LOSS") expected = "softmaxwithloss";
    const auto type = static_cast<V1LayerParameter::LayerType>(types->value(i)->number());
    for (unsigned char c : TypeOfV1(type)) today += static_cast<char>(std::tolower(c));
    EXPECT_EQ(today, expected) << old;
  }
  EXPECT_EQ(Layers("layers { name: 'a' }"), Layers("layer { name: 'a' }"));
}

TEST(V1LayersTest, EveryBlockKeepsItsName) {
  const auto* const form = V1LayerParameter::descriptor();
  int blocks = 0;
  for (int i = 0; i < form->field_count(); ++i) {
    const FieldDescriptor* const field = form->field(i);
    if (field->message_type() == nullptr || field->is_repeated()) continue;
    const FieldDescriptor* const to = LayerParameter::descriptor()->FindFieldByName(field->name());
    ASSERT_NE(to, nullptr) << field->name();
    ASSERT_EQ(to->message_type(), field->message_type()) << field->name();
    V1LayerParameter old;
    old.GetReflection()->MutableMessage(&old, field);
    const LayerParameter layer = UpgradeV1Layer(&old);
    EXPECT_TRUE(layer.GetReflection()->HasField(layer, to)) << field->name();
    ++blocks;
  }
  EXPECT_GE(blocks, 21);
}

// A layer as Caffe writes it: fields 4 (name), 5 (type 4), 7 (2.0), 10 (with num_output: 5).
TEST(V1LayersTest, NumbersOfFieldsAreCaffes) {
  const std::string bytes(
      "\x22\x01"
      "c"
      "\x28\x04\x3d\0\0\0\x40\x52\x02\x08\x05",
      14);
  V1LayerParameter old;
  ASSERT_TRUE(old.ParseFromString(bytes));
  EXPECT_EQ(UpgradeV1Layer(&old).ShortDebugString(),
            "name: \"c\" type: \"Convolution\" param { lr_mult: 2 } "
            "convolution_param { num_output: 5 }");
}

TEST(V1LayersTest, LayersRememberWhereTheyWereDeclared) {
  const NetSource net = ParseNet(
      "name: \"n\"\nlayers { name: \"a\" }\n\n  layers {\n name: \"b\" }\n", "dir/net.prototxt");
  ASSERT_EQ(net.param.layer_size(), 2);
  EXPECT_EQ(net.param.layer(1).name(), "b");
  EXPECT_EQ(net.layer_locations,
            (std::vector<std::string>{"dir/net.prototxt:2:1", "dir/net.prototxt:4:3"}));
}

TEST(V1LayersTest, BothFormsInOneNetAreRefused) {
  EXPECT_EQ(NetError("layer { name: 'a' }\nlayers { name: 'b' }\nlayer { name: 'c' }"),
            "net.prototxt:2:1: the net has layers { } of Caffe's V1 format, but layer { } at "
            "net.prototxt:1:1: write all of them in one form");
}

TEST(V1LayersTest, TheV0FormatIsRefusedWithAdvice) {
  const std::string advice =
      "layers { layer { } } is Caffe's V0 format, which is not read: upgrade the net with Caffe's "
      "upgrade_net_proto_text tool";
  EXPECT_EQ(NetError("name: \"old\"\nlayers {\n  layer {\n    name: \"c\" type: \"conv\"\n  }\n"
                     "  bottom: \"x\"\n}"),
            "net.prototxt:3:3: " + advice);
  EXPECT_EQ(NetError("layers { bottom: \"x\" top: \"c\" layer { } }"),
            "net.prototxt:1:31: " + advice);
}

TEST(V1LayersTest, TypesOfLayersThatGoWithTheOtherFormAreExplained) {
  EXPECT_EQ(
      NetError("layer {\n  name: \"c\" type: SOFTMAX_LOSS\n}"),
      "net.prototxt:2:19: type: SOFTMAX_LOSS goes with layers { } of Caffe's V1 format: write "
      "type: \"SoftmaxWithLoss\"");
  EXPECT_EQ(NetError("layer { type: RBF }"),
            "net.prototxt:1:15: type: RBF must be in quotes: type: \"RBF\"");
  for (const std::string type : {"\"Convolution\"", "'Convolution'"}) {
    EXPECT_EQ(
        NetError("layers { name: 'c' type: " + type + " }"),
        "net.prototxt:1:26: type: " + type +
            " goes with layer { }, not with layers { } of Caffe's V1 format: write layer { }");
  }
  EXPECT_EQ(NetError("layers { type: CONVOLUTON }")
                .find("net.prototxt:1:16: type cannot be \"CONVOLUTON\"; did you mean CONVOLUTION? "
                      "(one of NONE, "),
            0u);
}

TEST(V1LayersTest, FieldsOfLayersThatGoWithTheOtherFormAreExplained) {
  EXPECT_EQ(
      NetError("layer { blobs_lr: 1 }"),
      "net.prototxt:1:9: LayerParameter has no field \"blobs_lr\": it goes with layers { } of "
      "Caffe's V1 format; here, write param { lr_mult: ... decay_mult: ... } for each "
      "parameter");
  EXPECT_EQ(
      NetError("layers { batch_norm_param { } }"),
      "net.prototxt:1:10: V1LayerParameter has no field \"batch_norm_param\": it goes with "
      "layer { }, not with layers { } of Caffe's V1 format: write all layers as layer { type: "
      "\"...\" }");
  EXPECT_EQ(NetError("layers { mvn_param { } }"),
            "net.prototxt:1:10: V1LayerParameter has no field \"mvn_param\": this layer type is "
            "not supported");
}

TEST(V1LayersTest, EveryNumberIsFinite) {
  EXPECT_EQ(NetError("layers { blobs_lr: 1\n blobs_lr: nan }"),
            "net.prototxt:2:2: layers[0].blobs_lr[1] is nan, must be a finite number");
}

}  // namespace
}  // namespace gf
