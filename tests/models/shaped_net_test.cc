#include "models/shaped_net.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

ShapedNet Shaped(const std::string& text, Phase phase = TRAIN, int64_t batch = 0) {
  return ShapeNet(ParseNet(text, "test"), phase, batch, Shape());
}

TEST(ShapedNetTest, KnowsLayersShapesAndParameters) {
  const std::string text =
      kInputs + Conv("c", "x", 6) + Simple("BatchNorm", "n", "c") +
      Simple("Scale", "s", "n", "scale_param { bias_term: true }") + Inner("ip", "s", 5) +
      "layer { name: 'hush' type: 'Silence' bottom: 's' }"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'y' }";
  for (const int64_t batch : {int64_t{0}, int64_t{7}}) {
    const ShapedNet net = Shaped(text, TRAIN, batch);
    std::vector<std::string> layers, parameters;
    for (const ShapedLayer& layer : net.layers) {
      layers.push_back(layer.layer->name());
      for (const ParameterName& name : layer.parameters) parameters.push_back(name.name);
    }
    EXPECT_EQ(layers, (std::vector<std::string>{"x", "y", "c", "n", "ip", "hush", "loss"}));
    EXPECT_EQ(parameters, (std::vector<std::string>{"c.weight", "c.bias", "n.weight", "n.bias",
                                                    "ip.weight", "ip.bias"}));
    const int64_t images = batch == 0 ? 4 : batch;
    EXPECT_EQ(net.shapes.at("c"), (Shape{images, 6, 8, 8}));
    EXPECT_EQ(net.shapes.at("ip"), (Shape{images, 5}));
    EXPECT_EQ(net.shapes.at("loss (loss)").count(), 1);
  }
}

TEST(ShapedNetTest, MistakesAreNamed) {
  const auto error = [](const std::string& layers) {
    return ErrorOf([&] { Shaped(kInputs + layers); });
  };
  EXPECT_TRUE(Has(error(Simple("Convolutoin", "c", "x")), "unknown type \"Convolutoin\""));
  EXPECT_TRUE(Has(error("layer { name: 'e' type: 'Eltwise' bottom: 'x' top: 'e' }"), "bottom"));
  EXPECT_TRUE(Has(
      error(Simple("InnerProduct", "ip", "x", "inner_product_param { num_output: 2147483647 }") +
            Simple("InnerProduct", "ip2", "ip", "inner_product_param { num_output: 2147483647 }")),
      "layer \"ip2\" (InnerProduct): its weight would have the impossible shape "
      "2147483647x2147483647, expected sides of 1 or more and at most "));
}

}  // namespace
}  // namespace gf
