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
  EXPECT_NE(error.find("gfpredict: --set crop_size=32"), std::string::npos);
}

TEST(InputsTest, ImagesOfAnotherSizeThanTheNetsAreRefused) {
  EXPECT_EQ(Shapes(kData, 0, Shape{3, 27, 27}), "64x3x27x27 64");
  EXPECT_NE(Error(kData, Shape{3, 32, 32}).find("crops images to 3x27x27 but is given 3x32x32"),
            std::string::npos);
  const char* input =
      "layer { name: 'i' type: 'Input' top: 'x' input_param { shape { dim: [1, 3, 6, 6] } } }";
  EXPECT_EQ(Shapes(input, 0, Shape{3, 6, 6}), "1x3x6x6");
  EXPECT_NE(Error(input, Shape{1, 6, 6})
                .find("takes images of 3x6x6 but is given 1x6x6; the net takes 3 channels, the "
                      "data have 1: set channels of the data (train_data.channels, "
                      "validation_data.channels) to 3, or input { channels: 1 } in the job"),
            std::string::npos);
}

TEST(InputsTest, LabelsWithFourAxesAreNotImages) {
  EXPECT_EQ(Shapes("layer { name: 'l' type: 'Input' top: 'l' "
                   "input_param { shape { dim: [1, 1, 1, 1] } } }",
                   2, Shape{3, 6, 6}),
            "2x1x1x1");
}

TEST(InputsTest, ADataLayerHasAtMostTwoTops) {
  for (const char* type :
       {"Data", "DummyData", "HDF5Data", "ImageData", "MemoryData", "WindowData"}) {
    const std::string error = Error(StrCat("layer { name: 'd' type: '", type,
                                           "' top: 'a' top: 'b' top: 'c' "
                                           "transform_param { crop_size: 4 } "
                                           "dummy_data_param { shape { dim: [2, 3, 4, 4] } } }"));
    EXPECT_EQ(error, StrCat("test.prototxt:1:1: layer \"d\" (", type,
                            "): has 3 tops; expected at most two: images and labels"));
  }
}

// A layer with images and labels.
std::string DataLayer(const std::string& type, const std::string& more) {
  return StrCat("layer { name: 'd' type: '", type, "' top: 'data' top: 'label' ", more, " }");
}

TEST(InputsTest, AMemoryDataLayerStatesTheWholeShape) {
  const std::string layer =
      DataLayer("MemoryData", "memory_data_param { batch_size: 5 channels: 1 height: 9 width: 7 }");
  EXPECT_EQ(Shapes(layer), "5x1x9x7 5");
  EXPECT_EQ(Shapes(layer, 8, Shape{1, 9, 7}), "8x1x9x7 8");
  EXPECT_NE(
      Error(layer, Shape{3, 9, 7}).find("layer \"d\" takes images of 1x9x7 but is given 3x9x7"),
      std::string::npos);
}

TEST(InputsTest, AMemoryDataLayerWithoutExtentsTakesTheJobsImageShape) {
  const std::string layer = DataLayer("MemoryData", "memory_data_param { batch_size: 5 }");
  EXPECT_EQ(Shapes(layer, 0, Shape{3, 4, 4}), "5x3x4x4 5");
  EXPECT_NE(Error(layer).find("(MemoryData) does not state the image size"), std::string::npos);
}

TEST(InputsTest, AMemoryDataLayerWithAnImpossibleImageIsRefused) {
  EXPECT_NE(Error(DataLayer("MemoryData", "memory_data_param { channels: 3 }"))
                .find("layer \"d\" (MemoryData): memory_data_param says that channels x height x "
                      "width are 3x0x0, expected 1 or more of each"),
            std::string::npos);
  EXPECT_NE(Error(DataLayer("MemoryData",
                            "memory_data_param { channels: 4000000000 height: 4000000000 "
                            "width: 4000000000 }"))
                .find("are 4000000000x4000000000x4000000000"),
            std::string::npos);
}

TEST(InputsTest, AnHdf5DataLayerTakesTheJobsImageShape) {
  const std::string layer = DataLayer("HDF5Data", "hdf5_data_param { source: 'x' batch_size: 6 }");
  EXPECT_EQ(Shapes(layer, 0, Shape{3, 9, 8}), "6x3x9x8 6");
  EXPECT_NE(Error(layer).find("(HDF5Data) does not state the image size"), std::string::npos);
}

TEST(InputsTest, AWindowDataLayerTakesItsBatchAndCropFromTheFile) {
  const std::string layer =
      DataLayer("WindowData", "window_data_param { batch_size: 4 crop_size: 9 }");
  EXPECT_EQ(Shapes(layer), "4x3x9x9 4");
  EXPECT_EQ(
      Shapes(DataLayer("WindowData",
                       "transform_param { crop_size: 8 } window_data_param { batch_size: 4 }")),
      "4x3x8x8 4");
  EXPECT_NE(Error(layer, Shape{3, 8, 8}).find("crops images to 3x9x9 but is given 3x8x8"),
            std::string::npos);
}

TEST(InputsTest, ADummyDataLayerHasOneShapeOrOnePerTop) {
  const std::string image =
      "layer { name: 'd' type: 'DummyData' top: 'data' dummy_data_param { shape { dim: [10, 3, 6, "
      "6] } } }";
  EXPECT_EQ(Shapes(image), "10x3x6x6");
  EXPECT_EQ(Shapes(image, 4, Shape{3, 6, 6}), "4x3x6x6");
  EXPECT_NE(Error(image, Shape{1, 6, 6}).find("takes images of 3x6x6 but is given 1x6x6"),
            std::string::npos);
  EXPECT_EQ(Shapes("layer { name: 'd' type: 'DummyData' top: 'label' dummy_data_param { shape { "
                   "dim: 10 } } }",
                   4, Shape{3, 6, 6}),
            "4");
  EXPECT_EQ(
      Shapes(DataLayer("DummyData",
                       "dummy_data_param { shape { dim: [10, 3, 6, 6] } shape { dim: 10 } }")),
      "10x3x6x6 10");
  EXPECT_EQ(Shapes(DataLayer("DummyData",
                             "dummy_data_param { num: 10 channels: [3, 1] height: [6, 1] "
                             "width: [5, 1] }")),
            "10x3x6x5 10x1x1x1");
}

TEST(InputsTest, ADummyDataLayerWithContradictingShapesIsRefused) {
  const auto error = [](const std::string& shapes) {
    return Error(DataLayer("DummyData", "dummy_data_param { " + shapes + " }"));
  };
  const auto has = [&](const std::string& shapes, const std::string& part) {
    return error(shapes).find("test.prototxt:1:1: layer \"d\" (DummyData): " + part) == 0;
  };
  EXPECT_TRUE(has("shape { dim: [10, 3, 6, 6] }",
                  "its second top \"label\" holds labels, but its shape is 10x3x6x6"));
  EXPECT_TRUE(has("num: 10 channels: 3 height: 6 width: 6", "its second top \"label\""));
  EXPECT_TRUE(
      has("shape { dim: 10 } num: 10", "give shape or num, channels, height and width, not both"));
  EXPECT_TRUE(has("shape { dim: 1 } shape { dim: 1 } shape { dim: 1 }",
                  "dummy_data_param has 3 values of shape, expected one, or one per top (2)"));
  EXPECT_TRUE(has("num: 10 channels: [3, 1, 1] height: 6 width: 6",
                  "dummy_data_param has 3 values of channels, expected one, or one per top (2)"));
  EXPECT_TRUE(has("", "dummy_data_param has 0 values of num"));
}

}  // namespace
}  // namespace gf
