#include "layers/crop.h"

#include <cmath>
#include <numeric>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

using CropTest = DeviceTest;

std::string Crop(const std::string& param) { return "type: 'Crop' crop_param { " + param + " }"; }

Values Counting(int64_t count) {
  Values values(count);
  std::iota(values.begin(), values.end(), 0.f);
  return values;
}

TEST_P(CropTest, TakesAPartOfItsBottom) {
  const Shape data = {1, 2, 3, 4};
  const Values x = Counting(24);
  const auto top = [&](const std::string& param, const Shape& reference) {
    return Top(Case(Crop(param), {data, reference}), {x, Values(reference.count())});
  };
  EXPECT_EQ(top("", {1, 2, 2, 2}), (Values{0, 1, 4, 5, 12, 13, 16, 17}));
  EXPECT_EQ(top("offset: 1", {1, 2, 2, 2}), (Values{5, 6, 9, 10, 17, 18, 21, 22}));
  EXPECT_EQ(top("offset: [1, 2]", {1, 2, 2, 2}), (Values{6, 7, 10, 11, 18, 19, 22, 23}));
  EXPECT_EQ(top("axis: 1 offset: [1, 2, 0]", {1, 1, 1, 3}), (Values{20, 21, 22}));
  EXPECT_EQ(top("axis: -1 offset: 3", {1, 2, 3, 1}), (Values{3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(top("axis: 0", data), x);
}

// Of the axes before `axis` the reference says nothing.
TEST_P(CropTest, KeepsTheAxesBeforeTheFirst) {
  const auto layer = MakeLayer(Case(Crop("offset: 2"), {{4, 6, 8, 9}, {1, 3, 5, 7}}));
  EXPECT_EQ(layer->tops()[0], (Shape{4, 6, 5, 7}));
}

TEST_P(CropTest, TheGradientIsZeroOutside) {
  LayerRun run(Case(Crop("offset: [0, 1]"), {{2, 1, 2, 3}, {1, 1, 1, 2}}), Options());
  run.SetTopDiff(0, {1, 2, 3, 4});
  run.Forward();
  run.Backward();
  EXPECT_EQ(run.BottomDiff(0), (Values{0, 1, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0}));
  EXPECT_FALSE(run.HasBottomDiff(1));
}

TEST_P(CropTest, ReadsOnlyTheShapeOfTheReference) {
  LayerRun run(Case(Crop(""), {{1, 1, 2, 2}, {1, 1, 1, 2}}), Options());
  run.SetBottom(0, {1, 2, 3, 4});
  run.SetBottom(1, {std::nanf(""), std::nanf("")});
  run.Forward();
  EXPECT_EQ(run.Top(0), (Values{1, 2}));
  EXPECT_FALSE(run.setup().needs_bottom[1]);
}

// Parts whose rows are whole vectors, single elements and something between, in every layout.
TEST_P(CropTest, EveryLayoutAndTypeGivesTheSame) {
  const Shape data = {3, 32, 6, 8};
  const auto device = DeviceRegistry::Get().Create("device", GetParam(), 0);
  struct Part {
    std::string param;
    Shape reference;
  };
  for (const Part& part : {Part{"offset: [1, 4]", {3, 32, 3, 4}}, Part{"offset: 3", {3, 32, 2, 5}},
                           Part{"axis: 1 offset: [16, 0, 0]", {3, 16, 6, 8}},
                           Part{"axis: 1 offset: [5, 1, 1]", {3, 17, 4, 6}},
                           Part{"axis: 0 offset: [1, 0, 2, 2]", {2, 32, 4, 4}},
                           Part{"axis: 0 offset: [2, 0, 0, 0]", {1, 32, 6, 8}}}) {
    for (const char* format : {"plain", "blocked", "nhwc"}) {
      for (const DType type : {DType::kFP32, DType::kBF16}) {
        if (!device->Supports(type)) continue;
        RunOptions options = Options();
        options.format = format;
        options.compute = type;
        LayerRun run(Case(Crop(part.param), {data, part.reference}), options);
        // Whole numbers below 256 are exact in BF16.
        Values x = Counting(data.count());
        for (float& value : x) value = std::fmod(value, 251.f);
        Values dy = Counting(run.layer().tops()[0].count());
        for (float& value : dy) value = 1 + std::fmod(value, 241.f);
        run.SetBottom(0, x);
        run.SetTopDiff(0, dy);
        run.Forward();
        const Values result = run.Top(0);
        run.Backward();

        const Shape& top = run.layer().tops()[0];
        const auto& param = run.layer().param().crop_param();
        int64_t offsets[4] = {};
        for (int i = param.axis(); i < 4; ++i) {
          offsets[i] = param.offset(param.offset_size() == 1 ? 0 : i - param.axis());
        }
        Values y, dx(x.size());
        for (int64_t i = 0; i < top.count(); ++i) {
          int64_t rest = i, at = 0, stride = 1;
          for (int axis = 3; axis >= 0; --axis) {
            at += (rest % top[axis] + offsets[axis]) * stride;
            rest /= top[axis];
            stride *= data[axis];
          }
          y.push_back(x[at]);
          dx[at] = dy[i];
        }
        EXPECT_EQ(result, y) << part.param << ", " << format << ", " << Name(type);
        EXPECT_EQ(run.BottomDiff(0), dx) << part.param << ", " << format << ", " << Name(type);
      }
    }
  }
}

TEST_P(CropTest, KeepsItsLayoutWhereItCan) {
  RunOptions options = Options();
  options.format = "blocked";
  LayerRun pixels(Case(Crop("offset: 1"), {{2, 19, 5, 6}, {2, 19, 3, 3}}), options);
  EXPECT_FALSE(pixels.setup().tops[0].layout.plain());
  LayerRun channels(Case(Crop("axis: 1"), {{2, 19, 5, 6}, {2, 3, 5, 6}}), options);
  // Blocks of channels are the processor's.
  EXPECT_EQ(channels.setup().tops[0].layout.plain(), GetParam() == "cpu");
  options.format = "nhwc";
  LayerRun last(Case(Crop("axis: 1"), {{2, 19, 5, 6}, {2, 3, 5, 6}}), options);
  EXPECT_FALSE(last.setup().tops[0].layout.plain());
}

TEST_P(CropTest, RefusesWhatDoesNotFit) {
  ExpectSetUpError(Case(Crop("offset: [1, 2]"), {{1, 1, 4, 4}, {1, 1, 3, 3}}),
                   "axis 3: the offset 2 and the size 3 of bottom 1 reach 5, but bottom 0 has only "
                   "4: 1x1x4x4 and 1x1x3x3");
  ExpectSetUpError(Case(Crop("offset: 4000000000"), {{1, 1, 4, 4}, {1, 1, 3, 3}}),
                   "axis 2: the offset 4000000000");
  ExpectSetUpError(Case(Crop(""), {{1, 1, 4, 4}, {1, 1, 5, 4}}),
                   "axis 2: the offset 0 and the size 5");
  ExpectSetUpError(Case(Crop("axis: 1 offset: [1, 2]"), {{1, 1, 4, 4}, {1, 1, 3, 3}}),
                   "crop_param has 2 numbers in offset, expected none, one, or one for each of 3 "
                   "axes from axis 1 on");
  ExpectSetUpError(Case(Crop(""), {{1, 1, 4, 4}, {1, 4, 4}}),
                   "the same number of axes, got 1x1x4x4 and 1x4x4");
  ExpectSetUpError(Case(Crop(""), {{2, 3}, {2, 3}}), "axis 2 is out of range");
}

std::string Text(const CropBox& box) {
  std::string text;
  for (size_t i = 0; i < box.dims.size(); ++i) {
    text += StrCat(text.empty() ? "" : " ", box.offsets[i], "+", box.extents[i], "/", box.dims[i]);
  }
  return text;
}

TEST(CropBoxTest, HasAsFewAxesAsPossible) {
  EXPECT_EQ(Text(Simplified({{2, 3, 4, 5}, {2, 3, 2, 3}, {0, 0, 1, 2}})), "0+6/6 1+2/4 2+3/5");
  EXPECT_EQ(Text(Simplified({{2, 3, 4, 5}, {1, 3, 4, 5}, {1, 0, 0, 0}})), "60+60/120");
  EXPECT_EQ(Text(Simplified({{2, 3, 4, 5}, {2, 1, 4, 5}, {0, 2, 0, 0}})), "0+2/2 40+20/60");
  EXPECT_EQ(Text(Simplified({{2, 3}, {2, 3}, {0, 0}})), "0+6/6");
}

GF_FOR_EVERY_DEVICE(CropTest);

}  // namespace
}  // namespace gf
