// Networks as ONNX models: the form of the models, and what is refused.

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/config/net.pb.h"
#include "export/export_net.h"
#include "export/layer_writer.h"
#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

// A layer that only nets know.
class UnexportableLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
};
GF_REGISTER(LayerRegistry, "Unexportable", UnexportableLayer);

struct Exported {
  std::unique_ptr<Net> net;
  ExportedNet result;
  const onnx::GraphProto& graph() const { return result.model.graph(); }
};

Exported Export(const std::string& layers, const ExportOptions& options = {}, int64_t batch = 0) {
  const NetSource source = ParseNet(kInputs + layers, "test.prototxt");
  const InferenceGraph graph = NewInferenceGraph(source, batch, Shape());
  NetOptions of_net = TestOptions(TEST);
  of_net.batch_size = graph.batch;
  Exported exported;
  exported.net = std::make_unique<Net>(source, of_net, TestDevice());
  SetRandom(RandomParameters(), exported.net->parameters().get());
  exported.result = ExportNet(graph, *exported.net->parameters(), options);
  return exported;
}

std::string ExportError(const std::string& layers, const ExportOptions& options = {}) {
  return ErrorOf([&] { Export(layers, options); });
}

std::vector<std::string> Ops(const onnx::GraphProto& graph) {
  std::vector<std::string> ops;
  for (const auto& node : graph.node()) ops.push_back(node.op_type());
  return ops;
}

std::vector<std::string> Outputs(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& output : graph.output()) names.push_back(output.name());
  return names;
}

std::map<std::string, std::vector<float>> Initializers(const onnx::GraphProto& graph) {
  std::map<std::string, std::vector<float>> all;
  for (const auto& tensor : graph.initializer()) {
    std::vector<float>& values = all[tensor.name()];
    values.resize(tensor.raw_data().size() / sizeof(float));
    std::memcpy(values.data(), tensor.raw_data().data(), tensor.raw_data().size());
  }
  return all;
}

std::vector<int64_t> Ints(const onnx::NodeProto& node, const std::string& name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return {attribute.ints().begin(), attribute.ints().end()};
  }
  return {};
}

using Texts = std::vector<std::string>;

TEST(ExportTest, FieldsHaveOnnxNumbers) {
  const auto expect = [](const google::protobuf::Descriptor* message,
                         const std::map<std::string, int>& numbers) {
    EXPECT_EQ(message->field_count(), static_cast<int>(numbers.size())) << message->full_name();
    for (const auto& [name, number] : numbers) {
      const auto* field = message->FindFieldByName(name);
      ASSERT_NE(field, nullptr) << name;
      EXPECT_EQ(field->number(), number) << message->full_name() << "." << name;
    }
  };
  expect(onnx::ModelProto::descriptor(), {{"ir_version", 1},
                                          {"producer_name", 2},
                                          {"producer_version", 3},
                                          {"domain", 4},
                                          {"model_version", 5},
                                          {"doc_string", 6},
                                          {"graph", 7},
                                          {"opset_import", 8},
                                          {"metadata_props", 14}});
  expect(onnx::GraphProto::descriptor(), {{"node", 1},
                                          {"name", 2},
                                          {"initializer", 5},
                                          {"doc_string", 10},
                                          {"input", 11},
                                          {"output", 12},
                                          {"value_info", 13}});
  expect(onnx::NodeProto::descriptor(), {{"input", 1},
                                         {"output", 2},
                                         {"name", 3},
                                         {"op_type", 4},
                                         {"attribute", 5},
                                         {"doc_string", 6},
                                         {"domain", 7}});
  expect(onnx::AttributeProto::descriptor(), {{"name", 1},
                                              {"f", 2},
                                              {"i", 3},
                                              {"s", 4},
                                              {"t", 5},
                                              {"g", 6},
                                              {"floats", 7},
                                              {"ints", 8},
                                              {"strings", 9},
                                              {"type", 20}});
  expect(onnx::TensorProto::descriptor(), {{"dims", 1},
                                           {"data_type", 2},
                                           {"float_data", 4},
                                           {"int32_data", 5},
                                           {"string_data", 6},
                                           {"int64_data", 7},
                                           {"name", 8},
                                           {"raw_data", 9}});
  expect(onnx::ValueInfoProto::descriptor(), {{"name", 1}, {"type", 2}, {"doc_string", 3}});
  expect(onnx::TypeProto::descriptor(), {{"tensor_type", 1}});
  expect(onnx::TypeProto::Tensor::descriptor(), {{"elem_type", 1}, {"shape", 2}});
  expect(onnx::TensorShapeProto::descriptor(), {{"dim", 1}});
  expect(onnx::TensorShapeProto::Dimension::descriptor(),
         {{"dim_value", 1}, {"dim_param", 2}, {"denotation", 3}});
  expect(onnx::OperatorSetIdProto::descriptor(), {{"domain", 1}, {"version", 2}});
  expect(onnx::StringStringEntryProto::descriptor(), {{"key", 1}, {"value", 2}});
}

TEST(ExportTest, AModelNamesItsOpsetInputsAndOutputs) {
  ExportOptions options;
  options.producer_version = "1";
  options.metadata = {{"gf.channels", "RGB"}};
  const Exported exported = Export(Inner("ip", "x", 5) + Loss("loss", "ip"), options);
  const onnx::ModelProto& model = exported.result.model;
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.producer_name(), "gradientflow");
  EXPECT_EQ(model.producer_version(), "1");
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).version(), 13);
  ASSERT_EQ(model.metadata_props_size(), 1);
  EXPECT_EQ(model.metadata_props(0).key(), "gf.channels");
  EXPECT_EQ(Ops(exported.graph()), (Texts{"Flatten", "Gemm"}));
  ASSERT_EQ(exported.graph().input_size(), 1);
  EXPECT_EQ(exported.graph().input(0).name(), "x");
  const auto& type = exported.graph().input(0).type().tensor_type();
  EXPECT_EQ(type.elem_type(), onnx::TensorProto::FLOAT);
  ASSERT_EQ(type.shape().dim_size(), 4);
  EXPECT_EQ(type.shape().dim(0).dim_param(), "N");
  EXPECT_EQ(type.shape().dim(3).dim_value(), 8);
  EXPECT_EQ(Outputs(exported.graph()), (Texts{"ip"}));
  EXPECT_EQ(Initializers(exported.graph()).at("ip.bias").size(), 5u);

  const Exported fixed = Export(Inner("ip", "x", 5), {}, 7);
  EXPECT_EQ(fixed.graph().input(0).type().tensor_type().shape().dim(0).dim_value(), 7);
}

TEST(ExportTest, LossesAndLayersThatServeThemAreLeftOut) {
  // The first head only serves a loss that is not the last one.
  const Exported heads =
      Export(Inner("trunk", "x", 6) + Inner("aux", "trunk", 5) + Loss("loss1", "aux") +
             Inner("main", "trunk", 5) + Loss("loss2", "main") +
             "layer { name: 'a' type: 'Accuracy' bottom: 'main' bottom: 'y' top: 'a' }");
  EXPECT_EQ(Outputs(heads.graph()), (Texts{"main"}));
  EXPECT_EQ(Ops(heads.graph()), (Texts{"Flatten", "Gemm", "Gemm"}));
  // Blobs that nobody reads are results, too, unless a Silence reads them.
  const Exported more =
      Export(Inner("ip", "x", 5) + Simple("Softmax", "p", "ip") + Simple("ReLU", "r", "x") +
             Simple("Sigmoid", "s", "x") + "layer { name: 'z' type: 'Silence' bottom: 's' }");
  EXPECT_EQ(Outputs(more.graph()), (Texts{"ip", "p", "r"}));
  // Without a loss of classes the last loss counts; its target is left out.
  const Exported pair =
      Export(Inner("a", "x", 5) + Inner("b", "x", 5) +
             "layer { name: 'e' type: 'EuclideanLoss' bottom: 'a' bottom: 'b' top: 'e' }");
  EXPECT_EQ(Outputs(pair.graph()), (Texts{"a"}));
  EXPECT_TRUE(Has(ExportError("layer { name: 'z' type: 'Silence' bottom: 'x' }"),
                  "there is nothing to export"));
}

TEST(ExportTest, BlobsInPlaceKeepTheirNameOutside) {
  const Exported exported = Export(Conv("c", "x", 2) +
                                   "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' }"
                                   "layer { name: 'd' type: 'Dropout' bottom: 'c' top: 'c' }"
                                   "layer { name: 's' type: 'Sigmoid' bottom: 'c' top: 'c' }");
  EXPECT_EQ(Outputs(exported.graph()), (Texts{"c"}));
  EXPECT_EQ(Ops(exported.graph()), (Texts{"Conv", "Relu", "Sigmoid"}));
  std::set<std::string> names;
  for (const auto& node : exported.graph().node()) {
    EXPECT_TRUE(names.insert(node.output(0)).second) << node.output(0);
  }
  EXPECT_EQ(exported.graph().node(2).output(0), "c");
}

TEST(ExportTest, ProbabilitiesAreAddedOnce) {
  ExportOptions options;
  options.softmax = true;
  EXPECT_EQ(Outputs(Export(Inner("ip", "x", 5) + Loss("loss", "ip"), options).graph()),
            (Texts{"ip", "prob"}));
  EXPECT_EQ(Outputs(Export(Inner("ip", "x", 5) + Simple("Softmax", "p", "ip"), options).graph()),
            (Texts{"ip", "p"}));
  EXPECT_TRUE(Has(ExportError(Inner("ip", "x", 5), options), "none of its blobs holds class"));
}

TEST(ExportTest, SharedParametersAreOneTensor) {
  const auto shared = [](const std::string& name, const std::string& bottom) {
    return Simple("InnerProduct", name, bottom,
                  "param { name: 'w' } inner_product_param { num_output: 192 bias_term: false }");
  };
  const Exported exported = Export(shared("a", "x") + shared("b", "a"));
  EXPECT_EQ(exported.graph().initializer_size(), 1);
  EXPECT_EQ(exported.graph().initializer(0).name(), "a.weight");
}

TEST(ExportTest, ABatchNormBecomesAPartOfTheConvolution) {
  const std::string layers = Conv("c", "x", 2) + Simple("BatchNorm", "n", "c") +
                             Simple("Scale", "s", "n", "scale_param { bias_term: true }");
  const Exported exported = Export(layers);
  EXPECT_EQ(Ops(exported.graph()), (Texts{"Conv"}));
  EXPECT_EQ(exported.graph().node(0).output(0), "s");
  const Values values = Parameters(*exported.net), states = States(*exported.net);
  auto folded = Initializers(exported.graph());
  for (size_t c = 0; c < 2; ++c) {
    const double factor =
        values.at("n.weight")[c] / std::sqrt(states.at("n.running_var")[c] + 1e-5);
    EXPECT_NEAR(folded.at("c.weight")[c * 27 + 5], values.at("c.weight")[c * 27 + 5] * factor,
                1e-6);
    EXPECT_NEAR(
        folded.at("c.bias")[c],
        (values.at("c.bias")[c] - states.at("n.running_mean")[c]) * factor + values.at("n.bias")[c],
        1e-6);
  }
  ExportOptions plain;
  plain.fold_batch_norm = false;
  EXPECT_EQ(Ops(Export(layers, plain).graph()), (Texts{"Conv", "BatchNormalization"}));
  // The other reader needs the result without the norm.
  const std::string other = "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'r' }";
  EXPECT_EQ(Ops(Export(layers + other).graph()), (Texts{"Conv", "BatchNormalization", "Relu"}));
}

TEST(ExportTest, WindowsAreExplicit) {
  // 8 pixels, kernel 3, stride 2: four windows, the last of which begins at 6.
  const auto pads = [](const std::string& settings) {
    return Ints(
        Export(Simple("Pooling", "p", "x", "pooling_param { " + settings + " }")).graph().node(0),
        "pads");
  };
  using Pads = std::vector<int64_t>;
  EXPECT_EQ(pads("kernel_size: 3 stride: 2"), (Pads{0, 0, 1, 1}));
  EXPECT_EQ(pads("kernel_size: 3 stride: 2 round_mode: FLOOR"), (Pads{0, 0, 0, 0}));
  EXPECT_EQ(pads("kernel_size: 3 stride: 2 pad_h: 1"), (Pads{1, 0, 2, 1}));
  EXPECT_EQ(Ops(Export(Simple("Pooling", "p", "x",
                              "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }"))
                    .graph()),
            (Texts{"AveragePool", "Mul"}));
}

TEST(ExportTest, ImagesMayEnterAsPixels) {
  ExportOptions options;
  options.scaling = PixelScaling{{100, 110, 120}, {64}};
  const Exported exported = Export(Conv("c", "x", 2), options);
  EXPECT_EQ(exported.graph().input(0).type().tensor_type().elem_type(), onnx::TensorProto::UINT8);
  EXPECT_EQ(Ops(exported.graph()), (Texts{"Cast", "Sub", "Div", "Conv"}));
  options.scaling->type = DataConfig::UINT16;
  const Exported words = Export(Conv("c", "x", 2), options);
  EXPECT_EQ(words.graph().input(0).type().tensor_type().elem_type(), onnx::TensorProto::UINT16);
  EXPECT_EQ(Ops(words.graph()), (Texts{"Cast", "Sub", "Div", "Conv"}));
  options.scaling->type = DataConfig::FP32;
  const Exported floats = Export(Conv("c", "x", 2), options);
  EXPECT_EQ(floats.graph().input(0).type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
  EXPECT_EQ(Ops(floats.graph()), (Texts{"Sub", "Div", "Conv"}));
  options.scaling->mean = {100, 110};
  EXPECT_TRUE(Has(ExportError(Conv("c", "x", 2), options), "2 numbers of mean"));
}

TEST(ExportTest, MetadataSayHowImagesArePrepared) {
  DataConfig data;
  data.set_resize_shorter(256);
  data.set_crop_size(224);
  data.add_mean(123.68f);
  data.add_mean(0.1f);
  data.add_std(58);
  const OnnxMetadata expected = {{"gf.channels", "RGB"},      {"gf.resize_shorter", "256"},
                                 {"gf.crop_size", "224"},     {"gf.filter", "TRIANGLE"},
                                 {"gf.mean", "[123.68,0.1]"}, {"gf.std", "[58]"}};
  EXPECT_EQ(PreprocessingMetadata(data, false), expected);
  EXPECT_EQ(PreprocessingMetadata(data, true).size(), 4u);
  data.set_channels(1);
  EXPECT_EQ(PreprocessingMetadata(data, false)[0].second, "gray");
  EXPECT_EQ(PreprocessingMetadata(data, false)[1].first, "gf.resize_shorter");
  data.set_channels(8);
  data.set_pixel_type(DataConfig::UINT16);
  EXPECT_EQ(PreprocessingMetadata(data, false)[0].second, "8");
  EXPECT_EQ(PreprocessingMetadata(data, false)[1],
            (std::pair<std::string, std::string>("gf.pixel_type", "UINT16")));
  const size_t count = PreprocessingMetadata(data, false).size();
  data.set_pad_mode(DataConfig::REFLECT);  // of no border
  EXPECT_EQ(PreprocessingMetadata(data, false).size(), count);
  data.set_pad(3);
  const OnnxMetadata padded = PreprocessingMetadata(data, false);
  EXPECT_EQ(padded[3], (std::pair<std::string, std::string>("gf.pad", "3")));
  EXPECT_EQ(padded[5], (std::pair<std::string, std::string>("gf.pad_mode", "REFLECT")));
  EXPECT_EQ(ClassNamesMetadata({"a", "b \"c\""})[0].second, R"(["a","b \"c\""])");
  EXPECT_TRUE(ClassNamesMetadata({}).empty());
}

TEST(ExportTest, MistakesNameTheLayerAndItsPlace) {
  // No device has a kernel for the layer, so the parameters are those of another net.
  const auto net = NewNet(kInputs + Inner("ip", "x", 5), TestOptions(TEST));
  const InferenceGraph graph = NewInferenceGraph(
      ParseNet(kInputs + Simple("Unexportable", "u", "x"), "test.prototxt"), 0, Shape());
  const std::string unknown = ErrorOf([&] { ExportNet(graph, *net->parameters(), {}); });
  EXPECT_TRUE(Has(unknown, "test.prototxt:1:")) << unknown;
  EXPECT_TRUE(Has(unknown, "layer \"u\" (Unexportable): layers of this type cannot be exported"))
      << unknown;
  EXPECT_TRUE(Has(unknown, "these can: AbsVal, ArgMax, Axpy, ")) << unknown;
  const std::string moved =
      ExportError(Simple("Permute", "p", "x", "permute_param { order: [1, 0, 2, 3] }"));
  EXPECT_TRUE(Has(moved, "layer \"p\" (Permute)")) << moved;
  EXPECT_TRUE(Has(moved, "set --batch=N")) << moved;
  // The file's batch is 4.
  const std::string fixed =
      ExportError(Simple("Reshape", "r", "x", "reshape_param { shape { dim: [4, 192] } }"));
  EXPECT_TRUE(Has(fixed, "layer \"r\" (Reshape)")) << fixed;
  EXPECT_TRUE(Has(fixed, "set --batch=N")) << fixed;
  const std::string rows =
      ExportError(Simple("Reshape", "r", "x", "reshape_param { shape { dim: [2, -1] } }"));
  EXPECT_TRUE(Has(rows, "only the first extent may follow an open batch")) << rows;
}

TEST(ExportTest, EveryTypeOfALayerHasAConverter) {
  const std::set<std::string> without = {
      "Accuracy", "ContrastiveLoss", "EuclideanLoss",   "HingeLoss",    "InfogainLoss",
      "Input",    "Silence",         "SoftmaxWithLoss", "Unexportable", "SigmoidCrossEntropyLoss"};
  for (const std::string& type : LayerRegistry::Get().Keys()) {
    if (type[0] == '_') continue;
    EXPECT_EQ(ConverterRegistry::Get().Has(type), without.count(type) == 0) << type;
  }
}

TEST(ExportTest, AFileHoldsLessThanTwoGibibytes) {
  CheckOnnxSize((uint64_t{1} << 31) - 1, "m.onnx");
  EXPECT_TRUE(Has(ErrorOf([] { CheckOnnxSize(uint64_t{1} << 31, "m.onnx"); }),
                  "m.onnx: the model takes 2.15 GB"));
}

}  // namespace
}  // namespace gf
