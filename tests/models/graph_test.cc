#include "models/graph.h"

#include <gtest/gtest.h>

#include "tests/models/net_for_test.h"

namespace gf {
namespace {

std::vector<GraphNode> Resolve(const std::string& text, Phase phase = TRAIN) {
  return ResolveGraph(ParseNet(text, "test.prototxt"), phase);
}

std::string Names(const std::vector<GraphNode>& nodes) {
  std::string names;
  for (const GraphNode& node : nodes) names += (names.empty() ? "" : " ") + node.param.name();
  return names;
}

std::string Error(const std::string& text, Phase phase = TRAIN) {
  return ErrorOf([&] { Resolve(text, phase); });
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(GraphTest, LayersBelongToThePhasesTheyNameOrDoNotExclude) {
  const std::string net =
      "layer { name: 'always' type: 'Input' top: 'a' }"
      "layer { name: 'train' type: 'Input' top: 'b' include { phase: TRAIN } }"
      "layer { name: 'test' type: 'Input' top: 'c' include { phase: TEST } }"
      "layer { name: 'both' type: 'Input' top: 'd' include { phase: TEST } include { phase: TRAIN "
      "} }"
      "layer { name: 'not_test' type: 'Input' top: 'e' exclude { phase: TEST } }"
      "layer { name: 'stage' type: 'Input' top: 'f' include { stage: 'deploy' } }"
      "layer { name: 'not_stage' type: 'Input' top: 'g' include { not_stage: 'deploy' } }"
      "layer { name: 'level' type: 'Input' top: 'h' include { min_level: 1 } }";
  EXPECT_EQ(Names(Resolve(net, TRAIN)), "always train both not_test not_stage");
  EXPECT_EQ(Names(Resolve(net, TEST)), "always test both not_stage");
}

TEST(GraphTest, IncludeAndExcludeTogetherAreRefused) {
  const std::string error = Error(
      "layer { name: 'x' type: 'Input' top: 'x' include { phase: TRAIN } exclude { phase: TEST } "
      "}");
  EXPECT_TRUE(Has(error, "test.prototxt:1:1")) << error;
  EXPECT_TRUE(Has(error, "both include and exclude")) << error;
}

TEST(GraphTest, ALayerBeforeItsBottomsInTheFileRunsAfterThem) {
  const auto nodes = Resolve(
      "layer { name: 'sum' type: 'Eltwise' bottom: 'b' bottom: 'c' top: 's' }"
      "layer { name: 'b' type: 'ReLU' bottom: 'a' top: 'b' }"
      "layer { name: 'a' type: 'Input' top: 'a' }"
      "layer { name: 'c' type: 'ReLU' bottom: 'a' top: 'c' }");
  EXPECT_EQ(Names(nodes), "a b c sum");
}

TEST(GraphTest, LayersThatAreReadyKeepTheOrderOfTheFile) {
  EXPECT_EQ(Names(Resolve("layer { name: 'z' type: 'Input' top: 'z' }"
                          "layer { name: 'a' type: 'Input' top: 'a' }"
                          "layer { name: 'm' type: 'ReLU' bottom: 'a' top: 'm' }"
                          "layer { name: 'b' type: 'ReLU' bottom: 'z' top: 'b' }")),
            "z a m b");
}

TEST(GraphTest, InPlaceLayersWriteNewVersionsThatLaterLayersRead) {
  const auto nodes = Resolve(
      "layer { name: 'x' type: 'Input' top: 'x' }"
      "layer { name: 'before' type: 'ReLU' bottom: 'x' top: 'y' }"
      "layer { name: 'relu' type: 'ReLU' bottom: 'x' top: 'x' }"
      "layer { name: 'drop' type: 'Dropout' bottom: 'x' top: 'x' }"
      "layer { name: 'after' type: 'ReLU' bottom: 'x' top: 'z' }");
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(nodes[1].param.bottom(0), "x");
  EXPECT_EQ(nodes[2].param.bottom(0), "x");
  EXPECT_EQ(nodes[2].param.top(0), "x#2");
  EXPECT_EQ(nodes[3].param.bottom(0), "x#2");
  EXPECT_EQ(nodes[3].param.top(0), "x#3");
  EXPECT_EQ(nodes[4].param.bottom(0), "x#3");
  EXPECT_EQ(PlainBlobName("x#3"), "x");
  EXPECT_EQ(PlainBlobName("x"), "x");
}

TEST(GraphTest, AMissingBlobNamesTheLayerThePhaseAndTheNearestBlob) {
  const std::string error = Error(
      "layer { name: 'data' type: 'Input' top: 'data' }\n"
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'dta' top: 'ip' }");
  EXPECT_TRUE(Has(error, "test.prototxt:2:1")) << error;
  EXPECT_TRUE(Has(error, "\"ip\" (InnerProduct)")) << error;
  EXPECT_TRUE(Has(error, "phase TRAIN")) << error;
  EXPECT_TRUE(Has(error, "\"dta\"; did you mean \"data\"?")) << error;
}

TEST(GraphTest, LayersOfTheV1FormatAreNamedWithTheirPlaces) {
  const std::string data = "layers { name: 'data' type: DUMMY_DATA top: 'data' }\n";
  const auto nodes = Resolve(
      data + " layers { name: 'r' type: RELU bottom: 'data' top: 'r' include: { phase: TRAIN } }");
  EXPECT_EQ(Names(nodes), "data r");
  EXPECT_EQ(nodes[1].location, "test.prototxt:2:2");
  EXPECT_EQ(nodes[1].param.type(), "ReLU");
  const std::string error =
      Error(data + "layers { name: 'ip' type: INNER_PRODUCT bottom: 'dta' top: 'ip' }");
  EXPECT_TRUE(Has(error, "test.prototxt:2:1: layer \"ip\" (InnerProduct): no layer")) << error;
}

TEST(GraphTest, ABlobOfTheOtherPhaseIsMissing) {
  const std::string net =
      "layer { name: 'data' type: 'Input' top: 'data' include { phase: TEST } }"
      "layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'r' }";
  EXPECT_EQ(Names(Resolve(net, TEST)), "data r");
  EXPECT_TRUE(Has(Error(net, TRAIN), "no layer of phase TRAIN produces its bottom \"data\""));
}

TEST(GraphTest, ABlobThatOnlyAnInPlaceLayerProducesIsMissing) {
  const std::string error = Error(
      "layer { name: 'data' type: 'Input' top: 'data' }"
      "layer { name: 'r' type: 'ReLU' bottom: 'fc' top: 'fc' }");
  EXPECT_TRUE(Has(error, "produces its bottom \"fc\"")) << error;
}

TEST(GraphTest, ACycleIsNamedInItsDirection) {
  const std::string error = Error(
      "layer { name: 'in' type: 'Input' top: 'in' }"
      "layer { name: 'outside' type: 'ReLU' bottom: 'z' top: 'o' }"
      "layer { name: 'x' type: 'Eltwise' bottom: 'in' bottom: 'z' top: 'x' }"
      "layer { name: 'y' type: 'ReLU' bottom: 'x' top: 'y' }"
      "layer { name: 'z' type: 'ReLU' bottom: 'y' top: 'z' }");
  EXPECT_TRUE(Has(error, "cycle: \"z\" -> \"x\" -> \"y\" -> \"z\"")) << error;
}

TEST(GraphTest, LayersOfEqualNamesInOnePhaseAreNumbered) {
  EXPECT_EQ(Names(Resolve("layer { name: 'a' type: 'Input' top: 'a' }"
                          "layer { name: 'a' type: 'ReLU' bottom: 'a' top: 'b' }"
                          "layer { name: 'a' type: 'ReLU' bottom: 'b' top: 'c' }")),
            "a a#2 a#3");
  EXPECT_EQ(Names(Resolve("layer { name: 'a' type: 'Input' top: 'a' include { phase: TRAIN } }"
                          "layer { name: 'a' type: 'Input' top: 'a' include { phase: TEST } }")),
            "a");
}

TEST(GraphTest, ABlobMadeTwiceIsRefused) {
  const std::string error = Error(
      "layer { name: 'a' type: 'Input' top: 'x' }"
      "layer { name: 'b' type: 'Input' top: 'y' }"
      "layer { name: 'c' type: 'ReLU' bottom: 'y' top: 'x' }");
  EXPECT_TRUE(Has(error, "layer \"c\": blob \"x\" is already produced by another layer")) << error;
}

TEST(GraphTest, ALayerWithoutTypeAnEmptyPhaseAndAHashInANameAreRefused) {
  EXPECT_TRUE(Has(Error("layer { name: 'a' top: 'x' }"), "\"a\" has no type"));
  EXPECT_TRUE(Has(Error("layer { name: 'a' type: 'Input' top: 'a' include { phase: TEST } }"),
                  "no layers in phase TRAIN"));
  EXPECT_TRUE(Has(Error("layer { name: 'a' type: 'Input' top: 'a#2' }"), "must not contain '#'"));
}

TEST(GraphTest, LayersWithoutNamesGetOne) {
  const auto nodes = Resolve("layer { type: 'Input' top: 'a' } layer { type: 'Input' top: 'b' }");
  EXPECT_EQ(Names(nodes), "layer0 layer1");
}

TEST(GraphTest, NetLevelInputsBecomeInputLayers) {
  const auto old = Resolve(
      "input: 'data' input_dim: 10 input_dim: 3 input_dim: 8 input_dim: 9"
      " layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'r' }");
  ASSERT_EQ(Names(old), "data r");
  EXPECT_EQ(old[0].param.type(), "Input");
  EXPECT_EQ(old[0].param.input_param().shape(0).ShortDebugString(), "dim: 10 dim: 3 dim: 8 dim: 9");
  const auto two = Resolve(
      "input: 'data' input_shape { dim: 2 dim: 3 dim: 4 dim: 5 }"
      "input: 'label' input_shape { dim: 2 }");
  ASSERT_EQ(Names(two), "data label");
  EXPECT_EQ(two[1].param.input_param().shape(0).ShortDebugString(), "dim: 2");
}

TEST(GraphTest, NetLevelInputsWithoutTheirShapesAreRefused) {
  EXPECT_TRUE(Has(Error("input: 'data' input_dim: 1 input_dim: 3"), "(got 2)"));
  EXPECT_TRUE(Has(Error("input: 'data'"), "need one input_shape each"));
  EXPECT_TRUE(Has(Error("input: 'data' input_shape { dim: 1 } input_dim: 1 input_dim: 1 "
                        "input_dim: 1 input_dim: 1"),
                  "not both"));
}

}  // namespace
}  // namespace gf
