#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "layers/kernel.h"
#include "tests/models/layers_for_test.h"

// Batch norms that are fused with their neighbors.
namespace gf {

// A convolution without a bias; `more` holds its windows.
inline std::string Plain(const std::string& name, const std::string& bottom, int outputs,
                         const std::string& more = "") {
  return StrCat("layer { name: '", name, "' type: 'Convolution' bottom: '", bottom, "' top: '",
                name, "' convolution_param { num_output: ", outputs, " bias_term: false ", more,
                " weight_filler { type: 'msra' } } }");
}

// A BatchNorm `name` and, with `scale`, a Scale `name`s.
inline std::string Norm(const std::string& name, const std::string& bottom, bool scale = true) {
  std::string text = Simple("BatchNorm", name, bottom);
  if (scale) text += Simple("Scale", name + "s", name, "scale_param { bias_term: true }");
  return text;
}

inline bool HasType(const Net& net, const std::string& type) {
  for (const NetOp& op : net.ops()) {
    if (op.type == type) return true;
  }
  return false;
}

// Of all types of numbers that a device has.
class FusedNormsTest : public testing::TestWithParam<std::tuple<DType, int>> {
 public:
  static auto Cases(int channels, int others) {
    return testing::Combine(testing::Values(DType::kFP32, DType::kFP16, DType::kBF16),
                            testing::Values(channels, others));
  }
  static std::string NameOf(const testing::TestParamInfo<std::tuple<DType, int>>& info) {
    return StrCat(Name(std::get<0>(info.param)), "_", std::get<1>(info.param));
  }

 protected:
  // Skips the test where the device does not have the fused layer.
  void NeedKernel(const std::string& type) const {
    if (!KernelRegistry::Get().Has(TestDevice()->name() + "/" + type)) {
      GTEST_SKIP() << TestDevice()->name() << " has no " << type;
    }
  }

  NetOptions Options(bool fuse = true) const {
    NetOptions options = TestOptions();
    options.compute = std::get<0>(GetParam());
    options.fuse = fuse;
    return options;
  }
  int channels() const { return std::get<1>(GetParam()); }

  // Of results that are computed in another order and rounded to the type.
  double rounding() const {
    switch (std::get<0>(GetParam())) {
      case DType::kFP32:
        return 1e-4;
      case DType::kFP16:
        return 6e-3;
      default:
        return 5e-2;
    }
  }
  void ExpectNear(const Values& found, const Values& expected) const {
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, values] : expected) {
      EXPECT_LT(RelativeError(found.at(name), values, 1e-3), rounding()) << name;
    }
  }

  // The net with and without fusion has equal losses, gradients and statistics in three steps.
  void ExpectSameSteps(const std::string& text, const std::string& fused_type,
                       const std::vector<std::string>& freeze = {}) const {
    NetOptions options = Options(), apart = Options(false);
    options.freeze = apart.freeze = freeze;
    const auto fused = NewNet(text, options), split = NewNet(text, apart);
    EXPECT_TRUE(HasType(*fused, fused_type));
    EXPECT_FALSE(HasType(*split, fused_type));
    const auto whole = NewNet(text, Options(false));
    SetRandom({}, whole->parameters().get());
    CopyParameters(*whole, split.get());
    CopyParameters(*whole, fused.get());         // whose layers have another order
    for (uint64_t step = 0; step < 3; ++step) {  // recorded from the second step on
      const float expected = Step(split.get(), 64, step);
      EXPECT_NEAR(Step(fused.get(), 64, step), expected, rounding() * std::abs(expected));
      ExpectNear(Gradients(*fused), Gradients(*split));
      ExpectNear(States(*fused), States(*split));
    }
  }

  void ExpectRepeats(const std::string& text) const {
    Values gradients[2];
    for (Values& result : gradients) {
      NetOptions options = Options();
      options.deterministic = true;
      const auto net = NewNet(text, options);
      SetRandom({}, net->parameters().get());
      Step(net.get(), 64);
      result = Gradients(*net);
    }
    EXPECT_EQ(gradients[0], gradients[1]);
  }
};

}  // namespace gf
