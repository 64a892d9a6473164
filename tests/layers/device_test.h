#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/core/test_devices.h"
#include "tests/layers/layer_tester.h"

namespace gf {

// Tests of one layer, run on every device.
class DeviceTest : public testing::TestWithParam<std::string> {
 protected:
  RunOptions Options() const {
    RunOptions options;
    options.device = GetParam();
    return options;
  }

  static LayerCase Case(std::string prototxt, std::vector<Shape> bottoms) {
    LayerCase test;
    test.name = "test";
    test.prototxt = std::move(prototxt);
    test.bottoms = std::move(bottoms);
    return test;
  }

  // Top 0 for the given bottoms.
  Values Top(const LayerCase& test, const std::vector<Values>& bottoms) const {
    LayerRun run(test, Options());
    for (size_t i = 0; i < bottoms.size(); ++i) run.SetBottom(static_cast<int>(i), bottoms[i]);
    run.Forward();
    return run.Top(0);
  }

  // Images of 2^31 elements are refused by a GPU's kernel, before there is memory for them.
  void ExpectLargeImagesRefused(const std::string& prototxt) const {
    if (GetParam() != "cuda") GTEST_SKIP() << "only GPUs have this limit";
    try {
      LayerRun run(Case(prototxt, {{1, 8, 16384, 16384}}), Options());
      FAIL();
    } catch (const UserError& e) {
      const std::string message = e.what();
      EXPECT_NE(message.find("2147483648 elements"), std::string::npos) << message;
    }
  }
};

#define GF_FOR_EVERY_DEVICE(Test) \
  INSTANTIATE_TEST_SUITE_P(Devices, Test, testing::ValuesIn(TestDevices()))

// Expects that SetUp throws a UserError that names the layer and contains `part`.
inline void ExpectSetUpError(const LayerCase& test, const std::string& part) {
  const std::string message = SetUpError(test);
  EXPECT_NE(message.find("net.prototxt:7:1: layer \"tested\""), std::string::npos) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

}  // namespace gf
