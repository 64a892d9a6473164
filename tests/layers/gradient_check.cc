#include "tests/layers/gradient_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace gf {
namespace {

// A tensor whose gradient is checked.
struct Variable {
  std::string name;
  Values values, gradient;
  std::function<void(const Values&)> set;
};

void ExpectGradient(LayerRun* run, const Variable& variable, const GradientCheck& check,
                    float first_step, const std::string& what) {
  const int64_t count = static_cast<int64_t>(variable.values.size());
  const double rms = Rms(variable.gradient);
  const int64_t samples = std::min<int64_t>(count, check.samples);
  int kinks = 0, wrong = 0;
  for (int64_t s = 0; s < samples; ++s) {
    const int64_t i = s * count / samples;
    const auto slope = [&](float step) {
      Values moved = variable.values;
      moved[i] = variable.values[i] + step;
      const double right = moved[i];
      variable.set(moved);
      run->Forward();
      const double above = run->Objective();
      moved[i] = variable.values[i] - step;
      variable.set(moved);
      run->Forward();
      return (above - run->Objective()) / (right - moved[i]);
    };
    const double analytic = variable.gradient[i];
    bool agrees = false, consistent = false;
    std::string numbers;
    for (float step = first_step; !agrees && step > first_step / 100; step /= 4) {
      const double wide = slope(step), narrow = slope(step / 2);
      const double numeric = (4 * narrow - wide) / 3;  // without the error of second order
      const double tolerance =
          check.tolerance * std::max({std::fabs(numeric), std::fabs(analytic), rms, 1e-4});
      if (!(std::fabs(wide - narrow) <= tolerance)) continue;
      consistent = true;
      agrees = std::fabs(numeric - analytic) <= tolerance;
      numbers += StrCat(" ", numeric);
    }
    if (!consistent) ++kinks;
    if (consistent && !agrees && ++wrong <= 5) {
      ADD_FAILURE() << what << ", " << variable.name << "[" << i << "] = " << variable.values[i]
                    << ": gradient " << analytic << ", differences say" << numbers << "; rms "
                    << rms;
    }
  }
  variable.set(variable.values);
  EXPECT_LE(kinks, std::max<int64_t>(1, samples / 5))
      << what << ", " << variable.name << ": too many kinks of " << samples;
}

}  // namespace

void ExpectGradients(const LayerCase& test, const RunOptions& options, const GradientCheck& check) {
  LayerRun run(test, options);
  run.Forward();
  run.Backward();
  std::vector<Variable> variables;
  for (size_t i = 0; i < test.bottoms.size(); ++i) {
    const int index = static_cast<int>(i);
    if (!run.HasBottomDiff(index)) continue;
    variables.push_back({StrCat("bottom ", i), run.bottom_values(index), run.BottomDiff(index),
                         [&run, index](const Values& v) { run.SetBottom(index, v); }});
  }
  for (size_t i = 0; i < run.layer().parameters().size(); ++i) {
    const int index = static_cast<int>(i);
    variables.push_back({run.layer().parameters()[i].name, run.parameter_values(index),
                         run.ParameterDiff(index),
                         [&run, index](const Values& v) { run.SetParameter(index, v); }});
  }
  ASSERT_FALSE(variables.empty()) << "nothing to check";
  const float step = test.linear ? 1 : check.step;
  for (const Variable& variable : variables) {
    ExpectGradient(&run, variable, check, step, test.name);
  }
}

}  // namespace gf
