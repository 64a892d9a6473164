#include "models/inputs.h"

#include <gtest/gtest.h>

#include "models/graph.h"
#include "tests/models/net_for_test.h"

namespace gf {
namespace {

// The shapes of the first layer, "64x3x32x32 64".
std::string Shapes(const std::string& layer, int64_t batch_size = 0, const Shape& image = Shape()) {
  auto nodes = ResolveGraph(ParseNet(layer, "test.prototxt"), TRAIN);
  SetInputs(batch_size, image, &nodes);
  EXPECT_EQ(nodes[0].param.type(), "Input");
  std::string shapes;
  for (const BlobShape& shape : nodes[0].param.input_param().shape()) {
    if (!shapes.empty()) shapes += " ";
    shapes += Shape(std::vector<int64_t>(shape.dim().begin(), shape.dim().end())).ToString();
  }
  return shapes;
}

std::string Error(const std::string& layer, const Shape& image = Shape()) {
  return ErrorOf([&] { Shapes(layer, 0, image); });
}

constexpr char kData[] =
    "layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param { batch_size: 64 } "
    "transform_param { crop_size: 27 } }";

TEST(InputsTest, ADataLayerTakesItsBatchAndCropFromTheFile) {
  EXPECT_EQ(Shapes(kData), "64x3x27x27 64");
  EXPECT_EQ(Shapes("layer { name: 'd' type: 'ImageData' top: 'data' top: 'label' "
                   "image_data_param { batch_size: 5 crop_size: 9 } }"),
            "5x3x9x9 5");
  EXPECT_EQ(Shapes("layer { name: 'd' type: 'Data' top: 'data' transform_param { crop_size: 9 "
                   "force_gray: true } }"),
            "1x1x9x9");
}

TEST(InputsTest, TheJobsBatchSizeReplacesTheFiles) {
  EXPECT_EQ(Shapes(kData, 8), "8x3x27x27 8");
  EXPECT_EQ(Shapes("input: 'x' input_dim: 10 input_dim: 3 input_dim: 6 input_dim: 6", 4),
            "4x3x6x6");
  EXPECT_EQ(
      Shapes("layer { name: 'l' type: 'Input' top: 'l' input_param { shape { dim: 1 } } }", 4),
      "4");
}

TEST(InputsTest, ADataLayerWithoutCropTakesTheJobsImageShape) {
  const char* data =
      "layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param { batch_size: 100 } }";
  EXPECT_EQ(Shapes(data, 0, Shape{1, 28, 28}), "100x1x28x28 100");
  const std::string error = Error(data);
  EXPECT_NE(error.find("test.prototxt:1:1: layer \"d\" (Data) does not state the image size"),
            std::string::npos)
      << error;
}

TEST(InputsTest, ImagesOfAnotherSizeThanTheNetsAreRefused) {
  EXPECT_EQ(Shapes(kData, 0, Shape{3, 27, 27}), "64x3x27x27 64");
  EXPECT_NE(Error(kData, Shape{3, 32, 32}).find("crops images to 3x27x27 but is given 3x32x32"),
            std::string::npos);
  const char* input =
      "layer { name: 'i' type: 'Input' top: 'x' input_param { shape { dim: [1, 3, 6, 6] } } }";
  EXPECT_EQ(Shapes(input, 0, Shape{3, 6, 6}), "1x3x6x6");
  EXPECT_NE(Error(input, Shape{1, 6, 6}).find("takes images of 3x6x6 but is given 1x6x6"),
            std::string::npos);
}

TEST(InputsTest, LabelsWithFourAxesAreNotImages) {
  EXPECT_EQ(Shapes("layer { name: 'l' type: 'Input' top: 'l' "
                   "input_param { shape { dim: [1, 1, 1, 1] } } }",
                   2, Shape{3, 6, 6}),
            "2x1x1x1");
}

TEST(InputsTest, ADataLayerHasAtMostTwoTops) {
  EXPECT_NE(Error("layer { name: 'd' type: 'Data' top: 'a' top: 'b' top: 'c' "
                  "transform_param { crop_size: 4 } }")
                .find("has 3 tops"),
            std::string::npos);
}

}  // namespace
}  // namespace gf
