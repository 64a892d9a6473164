// Resizing against its definition in double.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

using InterpTest = DeviceTest;

std::string Interp(const std::string& param) {
  return "type: 'Interp' interp_param { " + param + " }";
}

// A pixel of the source along an axis, and the share of it in a pixel of the result.
struct Tap {
  int64_t at;
  double share;
};
std::vector<Tap> TapsOf(int64_t pixel, int64_t in, int64_t out) {
  const double at = out == 1 ? 0 : static_cast<double>(pixel) * (in - 1) / (out - 1);
  const auto lower = std::min<int64_t>(static_cast<int64_t>(at), in - 1);
  const double over = at - static_cast<double>(lower);
  std::vector<Tap> taps = {{lower, 1 - over}};
  if (lower + 1 < in) taps.push_back({lower + 1, over});
  return taps;
}

// Calls f(element of the top, element of the bottom, weight).
template <typename F>
void ForTaps(const Shape& bottom, const Shape& top, const F& f) {
  int64_t i = 0;
  for (int64_t plane = 0; plane < bottom[0] * bottom[1]; ++plane) {
    for (int64_t y = 0; y < top[2]; ++y) {
      for (int64_t x = 0; x < top[3]; ++x, ++i) {
        for (const Tap& row : TapsOf(y, bottom[2], top[2])) {
          for (const Tap& column : TapsOf(x, bottom[3], top[3])) {
            f(i, (plane * bottom[2] + row.at) * bottom[3] + column.at, row.share * column.share);
          }
        }
      }
    }
  }
}

Values ToFloats(const std::vector<double>& values) { return Values(values.begin(), values.end()); }

TEST_P(InterpTest, TheCornersStay) {
  const auto expect = [&](const std::string& size, const Shape& bottom, const Values& x,
                          const Values& y) {
    ExpectNear(Top(Case(Interp(size), {bottom}), {x}), y, 1e-6, size);
  };
  expect("height: 3 width: 3", {1, 1, 2, 2}, {1, 2, 3, 4}, {1, 1.5f, 2, 2, 2.5f, 3, 3, 3.5f, 4});
  expect("height: 1 width: 7", {1, 1, 1, 4}, {0, 1, 2, 3}, {0, 0.5f, 1, 1.5f, 2, 2.5f, 3});
  expect("height: 2 width: 2", {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 7, 9});
  // One pixel is the first.
  expect("height: 1 width: 1", {1, 1, 2, 2}, {1, 2, 3, 4}, {1});
  expect("height: 2 width: 2", {1, 1, 1, 1}, {5}, {5, 5, 5, 5});
}

TEST_P(InterpTest, ResultsAndGradientsMatchTheDefinition) {
  struct Size {
    Shape bottom;
    int64_t height, width;
  };
  for (const Size& size :
       {Size{{2, 19, 5, 6}, 7, 4}, Size{{1, 3, 4, 4}, 25, 31}, Size{{1, 70, 3, 5}, 5, 9},
        Size{{2, 8, 30, 17}, 4, 3}, Size{{1, 16, 1, 9}, 4, 1}, Size{{1, 2, 13, 2}, 2, 40},
        Size{{3, 5, 6, 7}, 6, 7}}) {
    const std::string fields = StrCat("height: ", size.height, " width: ", size.width);
    for (const char* format : {"plain", "blocked", "nhwc"}) {
      const std::string where = StrCat(size.bottom.ToString(), ", ", fields, ", ", format);
      RunOptions options = Options();
      options.format = format;
      LayerRun run(Case(Interp(fields), {size.bottom}), options);
      run.Forward();
      const Values result = run.Top(0);
      run.Backward();
      const Shape& top = run.layer().tops()[0];
      ASSERT_EQ(top, (Shape{size.bottom[0], size.bottom[1], size.height, size.width}));
      const Values &x = run.bottom_values(0), &dy = run.top_diff_values(0);
      std::vector<double> y(dy.size()), dx(x.size());
      ForTaps(size.bottom, top, [&](int64_t to, int64_t from, double weight) {
        y[to] += weight * x[from];
        dx[from] += weight * dy[to];
      });
      ExpectNear(result, ToFloats(y), 2e-6, where);
      ExpectNear(run.BottomDiff(0), ToFloats(dx), 5e-6, where + ", gradient");
    }
  }
}

TEST_P(InterpTest, KeepsItsLayout) {
  for (const char* format : {"blocked", "nhwc"}) {
    RunOptions options = Options();
    options.format = format;
    LayerRun run(Case(Interp("zoom_factor: 2"), {{2, 19, 5, 6}}), options);
    EXPECT_FALSE(run.setup().tops[0].layout.plain()) << format;
  }
}

TEST_P(InterpTest, TheSizeComesFromItsFieldsOrTheSecondBottom) {
  const auto size = [](const std::string& param, std::vector<Shape> bottoms) {
    return MakeLayer(Case(Interp(param), std::move(bottoms)))->tops()[0].ToString();
  };
  EXPECT_EQ(size("height: 6 width: 8", {{2, 3, 9, 5}}), "2x3x6x8");
  EXPECT_EQ(size("zoom_factor: 8", {{2, 3, 9, 5}}), "2x3x65x33");
  EXPECT_EQ(size("shrink_factor: 2", {{2, 3, 9, 6}}), "2x3x5x3");
  EXPECT_EQ(size("shrink_factor: 4 zoom_factor: 3", {{2, 3, 9, 5}}), "2x3x7x4");
  EXPECT_EQ(size("zoom_factor: 1", {{2, 3, 9, 5}}), "2x3x9x5");
  EXPECT_EQ(size("", {{2, 3, 9, 5}, {1, 1, 7, 4}}), "2x3x7x4");
  EXPECT_EQ(size("zoom_factor: 2", {{2, 3, 9, 5}, {1, 1, 7, 4}}), "2x3x17x9");
}

TEST_P(InterpTest, ReadsOnlyTheShapeOfTheSecondBottom) {
  LayerRun run(Case("type: 'Interp'", {{1, 1, 1, 2}, {1, 1, 1, 3}}), Options());
  run.SetBottom(0, {1, 3});
  run.SetBottom(1, Values(3, std::nanf("")));
  run.Forward();
  EXPECT_EQ(run.Top(0), (Values{1, 2, 3}));
  EXPECT_FALSE(run.HasBottomDiff(1));
}

TEST_P(InterpTest, RefusesSizesWithoutAMeaning) {
  const auto refused = [](const std::string& param, const std::string& part) {
    ExpectSetUpError(Case(Interp(param), {{1, 2, 4, 4}}), part);
  };
  refused("",
          "does not say the size: give height and width, zoom_factor or shrink_factor, or a "
          "second bottom");
  refused("height: 3", "needs both height and width, got 3 and 0");
  refused("height: 3 width: -1", "must be at least 1, got 3 and -1");
  refused("zoom_factor: 0", "zoom_factor and shrink_factor must be at least 1, got 0 and 1");
  refused("height: 3 width: 3 zoom_factor: 2", "has a size and a factor");
  refused("zoom_factor: 2 pad_beg: -1",
          "pad_beg and pad_end must be 0, got -1 and 0: cut the bottom with a Crop layer");
  refused("zoom_factor: 2000000000", "the top would have the height 6000000001");
  refused("height: 3 width: 32769", "the top would have the width 32769, expected at most 32768");
  ExpectSetUpError(Case(Interp("zoom_factor: 2"), {{2, 3}}), "N x C x H x W, got 2x3");
  ExpectSetUpError(Case(Interp("height: 2 width: 2"), {{1, 1, 40000, 1}}),
                   "the bottom has the height 40000, expected at most 32768");
}

TEST_P(InterpTest, RefusesLargeImages) { ExpectLargeImagesRefused(Interp("height: 2 width: 2")); }

GF_FOR_EVERY_DEVICE(InterpTest);

}  // namespace
}  // namespace gf
