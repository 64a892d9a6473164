#include <algorithm>
#include <cmath>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

struct Lrn {
  int64_t size = 5;
  double alpha = 1, beta = 0.75, k = 1;
};

// Krizhevsky et al., section 3.3, with alpha divided by the size as in Caffe.
Values Across(const Shape& s, const Values& x, const Lrn& lrn) {
  Values y(x.size());
  const int64_t plane = s[2] * s[3];
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t c = 0; c < s[1]; ++c) {
      for (int64_t i = 0; i < plane; ++i) {
        double sum = 0;
        for (int64_t o = c - lrn.size / 2; o <= c + lrn.size / 2; ++o) {
          if (o < 0 || o >= s[1]) continue;
          const double v = x[(n * s[1] + o) * plane + i];
          sum += v * v;
        }
        const int64_t at = (n * s[1] + c) * plane + i;
        y[at] = static_cast<float>(
            x[at] * std::pow(lrn.k + lrn.alpha / static_cast<double>(lrn.size) * sum, -lrn.beta));
      }
    }
  }
  return y;
}

Values Within(const Shape& s, const Values& x, const Lrn& lrn) {
  Values y(x.size());
  for (int64_t p = 0; p < s[0] * s[1]; ++p) {
    for (int64_t h = 0; h < s[2]; ++h) {
      for (int64_t w = 0; w < s[3]; ++w) {
        double sum = 0;
        for (int64_t i = h - lrn.size / 2; i <= h + lrn.size / 2; ++i) {
          for (int64_t j = w - lrn.size / 2; j <= w + lrn.size / 2; ++j) {
            if (i < 0 || i >= s[2] || j < 0 || j >= s[3]) continue;
            const double v = x[(p * s[2] + i) * s[3] + j];
            sum += v * v;
          }
        }
        const int64_t at = (p * s[2] + h) * s[3] + w;
        const double area = static_cast<double>(lrn.size * lrn.size);
        y[at] = static_cast<float>(x[at] * std::pow(1 + lrn.alpha / area * sum, -lrn.beta));
      }
    }
  }
  return y;
}

class LrnTest : public DeviceTest {
 protected:
  void Compare(const std::string& fields, const Shape& shape,
               Values (*reference)(const Shape&, const Values&, const Lrn&), const Lrn& lrn) {
    const Values x = RandomValues(shape.count(), 17, 2);
    const std::string prototxt =
        StrCat("type: 'LRN' lrn_param { local_size: ", lrn.size, " alpha: ", lrn.alpha,
               " beta: ", lrn.beta, " ", fields, " }");
    for (const char* format : {"plain", "blocked", "nhwc"}) {
      RunOptions options = Options();
      options.format = format;
      LayerRun run(Case(prototxt, {shape}), options);
      run.SetBottom(0, x);
      run.Forward();
      ExpectNear(run.Top(0), reference(shape, x, lrn), 1e-5, format);
    }
  }
};

TEST_P(LrnTest, AcrossChannelsMatchesItsFormula) {
  Compare("", {2, 19, 4, 3}, Across, {});
  Compare("k: 2", {1, 96, 5, 5}, Across, {5, 1e-2, 0.75, 2});
  Compare("", {2, 3, 4, 4}, Across, {7, 2, 0.5});
}

TEST_P(LrnTest, WithinChannelMatchesItsFormulaAndIgnoresK) {
  const std::string within = "norm_region: WITHIN_CHANNEL ";
  Compare(within, {2, 5, 7, 6}, Within, {3, 1, 0.75});
  Compare(within + "k: 5", {1, 3, 4, 9}, Within, {5, 2, 0.6});
  Compare(within, {1, 2, 3, 2}, Within, {9, 3, 0.75});
}

TEST_P(LrnTest, RefusesEvenSizesAndVectors) {
  ExpectSetUpError(Case("type: 'LRN' lrn_param { local_size: 4 }", {{2, 3, 4, 4}}), "odd");
  ExpectSetUpError(Case("type: 'LRN'", {{2, 3}}), "got 2x3");
}

TEST_P(LrnTest, WindowsOfPixelsRefuseLargeImages) {
  ExpectLargeImagesRefused("type: 'LRN' lrn_param { norm_region: WITHIN_CHANNEL }");
}

GF_FOR_EVERY_DEVICE(LrnTest);

}  // namespace
}  // namespace gf
