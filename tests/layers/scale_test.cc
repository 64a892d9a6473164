#include "tests/layers/device_test.h"

namespace gf {
namespace {

class ScaleTest : public DeviceTest {
 protected:
  void Compare(const std::string& fields, const Shape& shape, int begin, int end) {
    for (const char* format : {"plain", "blocked", "nhwc"}) {
      RunOptions options = Options();
      options.format = format;
      LayerRun run(Case("type: 'Scale' scale_param { bias_term: true " + fields + " }", {shape}),
                   options);
      run.Forward();
      const Values &x = run.bottom_values(0), &gamma = run.parameter_values(0),
                   &beta = run.parameter_values(1);
      const int64_t inner = shape.count(end, shape.rank()), channels = shape.count(begin, end);
      ASSERT_EQ(static_cast<int64_t>(gamma.size()), channels);
      Values expected(x.size());
      for (int64_t i = 0; i < shape.count(); ++i) {
        const int64_t c = i / inner % channels;
        expected[i] = gamma[c] * x[i] + beta[c];
      }
      ExpectNear(run.Top(0), expected, 1e-6, format);
    }
  }
};

TEST_P(ScaleTest, MultipliesAndAddsAlongItsAxes) {
  Compare("", {2, 19, 5, 3}, 1, 2);
  Compare("", {3, 40}, 1, 2);
  Compare("axis: 0 num_axes: 2", {3, 4, 5}, 0, 2);
  Compare("axis: -1", {2, 3, 4, 5}, 3, 4);
  Compare("axis: 1 num_axes: -1", {2, 3, 4, 5}, 1, 4);
}

TEST_P(ScaleTest, StartsAsTheIdentity) {
  const auto layer = MakeLayer(Case("type: 'Scale' scale_param { bias_term: true }", {{2, 3}}));
  EXPECT_EQ(layer->parameters()[0].filler->type(), "constant");
  EXPECT_EQ(layer->parameters()[0].filler->value(), 1);
  EXPECT_EQ(layer->parameters()[1].filler->value(), 0);
}

TEST_P(ScaleTest, RefusesAxesOutOfRange) {
  ExpectSetUpError(Case("type: 'Scale' scale_param { axis: 2 }", {{2, 3}}), "axis 2");
  ExpectSetUpError(Case("type: 'Scale' scale_param { num_axes: 2 }", {{2, 3}}), "num_axes 2");
}

GF_FOR_EVERY_DEVICE(ScaleTest);

}  // namespace
}  // namespace gf
