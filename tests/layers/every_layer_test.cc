// Promises that every layer keeps, on every device.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "tests/core/test_devices.h"
#include "tests/layers/gradient_check.h"
#include "tests/layers/layer_cases.h"

namespace gf {
namespace {

class EveryLayer : public testing::TestWithParam<std::tuple<std::string, LayerCase>> {
 protected:
  const LayerCase& Case() const { return std::get<1>(GetParam()); }
  RunOptions Options() const {
    RunOptions options;
    options.device = std::get<0>(GetParam());
    return options;
  }
};

// All results of a run, by name.
std::map<std::string, Values> Results(LayerRun* run, bool backward = true) {
  std::map<std::string, Values> results;
  run->Forward();
  for (size_t i = 0; i < run->setup().tops.size(); ++i) {
    results[StrCat("top ", i)] = run->Top(static_cast<int>(i));
  }
  for (size_t i = 0; i < run->layer().states().size(); ++i) {
    results[run->layer().states()[i].name] = run->State(static_cast<int>(i));
  }
  if (!backward) return results;
  run->Backward();
  for (size_t i = 0; i < run->setup().bottoms.size(); ++i) {
    const int index = static_cast<int>(i);
    if (run->HasBottomDiff(index)) results[StrCat("gradient ", i)] = run->BottomDiff(index);
  }
  for (size_t i = 0; i < run->layer().parameters().size(); ++i) {
    results["gradient of " + run->layer().parameters()[i].name] =
        run->ParameterDiff(static_cast<int>(i));
  }
  return results;
}

std::map<std::string, Values> Results(const LayerCase& test, const RunOptions& options) {
  LayerRun run(test, options);
  return Results(&run, options.backward);
}

void ExpectResultsNear(const std::map<std::string, Values>& results,
                       const std::map<std::string, Values>& expected, double tolerance) {
  for (const auto& [name, values] : results) {
    ASSERT_EQ(expected.count(name), 1u) << name;
    ExpectNear(values, expected.at(name), tolerance, name);
  }
}

std::vector<DType> SupportedTypes(const std::string& device) {
  std::vector<DType> types = {DType::kFP32};
  const auto d = DeviceRegistry::Get().Create("device", device, 0);
  for (DType type : {DType::kBF16, DType::kFP16}) {
    if (d->Supports(type)) types.push_back(type);
  }
  return types;
}

TEST_P(EveryLayer, GradientsMatchFiniteDifferences) { ExpectGradients(Case(), Options()); }

TEST_P(EveryLayer, GradientsMatchFiniteDifferencesInBlockedLayouts) {
  RunOptions options = Options();
  options.format = "blocked";
  GradientCheck check;
  check.samples = 16;
  ExpectGradients(Case(), options, check);
}

TEST_P(EveryLayer, ResultsDoNotDependOnTheLayoutOfTheBottoms) {
  if (Case().depends_on_layout) GTEST_SKIP() << "its random numbers do, by definition";
  const auto expected = Results(Case(), Options());
  for (const char* format : {"blocked", "nhwc"}) {
    SCOPED_TRACE(format);
    RunOptions options = Options();
    options.format = format;
    ExpectResultsNear(Results(Case(), options), expected, 1e-4);
  }
}

TEST_P(EveryLayer, PaddingOfBlockedLayoutsStaysZero) {
  for (DType compute : SupportedTypes(Options().device)) {
    RunOptions options = Options();
    options.format = "blocked";
    options.compute = compute;
    LayerRun run(Case(), options);
    run.Forward();
    EXPECT_EQ(run.TopPadding(), 0) << Name(compute);
    run.Backward();
    EXPECT_EQ(run.GradientPadding(), 0) << Name(compute);
  }
}

TEST_P(EveryLayer, InPlaceGivesTheSameBits) {
  for (const char* format : {"plain", "blocked"}) {
    RunOptions options = Options();
    options.format = format;
    const auto expected = Results(Case(), options);
    options.in_place = true;
    EXPECT_EQ(Results(Case(), options), expected) << format;
  }
}

TEST_P(EveryLayer, RepeatedCallsGiveTheSameBits) {
  LayerRun run(Case(), Options());
  const auto expected = Results(&run);
  EXPECT_EQ(Results(&run), expected);
}

TEST_P(EveryLayer, ReplayedWorkGivesTheSameBits) {
  LayerRun recorded(Case(), Options());
  Results(&recorded);
  recorded.UseRecordings();
  for (uint64_t seed : {0, 1000}) {
    LayerRun run(Case(), Options());
    for (size_t i = 0; i < Case().bottoms.size(); ++i) {
      if (Case().IsLabel(static_cast<int>(i))) continue;
      const Values values = RandomValues(Case().bottoms[i].count(), seed + i);
      for (LayerRun* each : {&run, &recorded}) each->SetBottom(static_cast<int>(i), values);
    }
    EXPECT_EQ(Results(&recorded), Results(&run));
  }
}

TEST_P(EveryLayer, Bf16AndFp16AgreeWithFp32) {
  for (const char* format : {"plain", "blocked"}) {
    RunOptions options = Options();
    options.format = format;
    const auto expected = Results(Case(), options);
    for (DType compute : SupportedTypes(options.device)) {
      if (compute == DType::kFP32) continue;
      options.compute = compute;
      for (const auto& [name, values] : Results(Case(), options)) {
        EXPECT_LE(RelativeError(values, expected.at(name)), Case().bf16_tolerance)
            << name << ", " << format << ", " << Name(compute);
      }
    }
  }
}

// TF32 keeps as many bits as FP16; a processor does not round.
TEST_P(EveryLayer, Tf32AgreesWithFp32) {
  RunOptions options = Options();
  const auto expected = Results(Case(), options);
  options.allow_tf32 = true;
  for (const auto& [name, values] : Results(Case(), options)) {
    const double tolerance = options.device == "cpu" ? 0 : Case().bf16_tolerance;
    EXPECT_LE(RelativeError(values, expected.at(name)), tolerance) << name;
  }
}

TEST_P(EveryLayer, AgreesWithTheCpu) {
  RunOptions options = Options();
  if (options.device == "cpu") return;
  const auto results = Results(Case(), options);
  options.device = "cpu";
  ExpectResultsNear(results, Results(Case(), options), 1e-4);
}

TEST_P(EveryLayer, ResultsDoNotDependOnTheNumberOfThreads) {
  for (DType compute : SupportedTypes(Options().device)) {
    RunOptions options = Options();
    options.compute = compute;
    options.threads = 1;
    const auto expected = Results(Case(), options);
    for (int threads : {2, 5}) {
      options.threads = threads;
      const auto results = Results(Case(), options);
      if (Case().exact_for_threads) {
        EXPECT_EQ(results, expected) << threads << " threads, " << Name(compute);
      } else {
        ExpectResultsNear(results, expected, compute == DType::kFP32 ? 1e-4 : 2e-2);
      }
    }
  }
}

TEST_P(EveryLayer, InferenceGivesTheTopsOfTraining) {
  RunOptions options = Options();
  const auto expected = Results(Case(), options);
  options.backward = false;
  options.in_place = true;
  ExpectResultsNear(Results(Case(), options), expected, Case().tolerance);
}

TEST_P(EveryLayer, UnneededGradientsAreLeftOut) {
  const auto expected = Results(Case(), Options());
  const size_t bottoms = Case().bottoms.size();
  for (size_t wanted = 0; wanted <= bottoms; ++wanted) {
    RunOptions options = Options();
    options.propagate.assign(bottoms, false);
    if (wanted < bottoms) options.propagate[wanted] = true;
    LayerRun run(Case(), options);
    const bool any = wanted < bottoms && run.HasBottomDiff(static_cast<int>(wanted));
    if (!any && run.layer().parameters().empty()) continue;
    ExpectResultsNear(Results(&run), expected, Case().tolerance);
  }
}

TEST_P(EveryLayer, AddsUpSeveralGradientsOfItsTop) {
  RunOptions options = Options();
  const auto expected = Results(Case(), options);
  const int most = std::min(3, LayerRun(Case(), options).setup().max_top_diffs);
  for (int count = 2; count <= most; ++count) {
    for (bool in_place : {false, true}) {
      options.top_diffs = count;
      options.in_place = in_place;
      ExpectResultsNear(Results(Case(), options), expected, 1e-4);
    }
  }
}

TEST_P(EveryLayer, RecomputesItsTop) {
  LayerRun run(Case(), Options());
  run.Forward();
  const Values expected = run.Top(0);
  if (run.Recompute()) {
    EXPECT_EQ(run.Top(0), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, EveryLayer,
                         testing::Combine(testing::ValuesIn(TestDevices()),
                                          testing::ValuesIn(LayerCases())),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
                         });

TEST(LayerCases, CoverEveryRegisteredLayer) {
  // Without gradients, or part of nets only.
  std::set<std::string> types = {"Accuracy", "ArgMax", "Data", "ImageData", "Input", "Silence"};
  for (const LayerCase& test : LayerCases()) {
    LayerParameter param;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(test.prototxt, &param));
    types.insert(param.type());
  }
  std::istringstream names(LayerRegistry::Get().Names());
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    if (name[0] == '_') continue;  // internal
    EXPECT_EQ(types.count(name), 1u) << "no case for layer type " << name;
    for (const char* device : {"cpu", "cuda"}) {
      // Of GPUs where the program is built for them, even if there is none here.
      if (!KernelRegistry::Get().Has(StrCat(device, "/ReLU"))) continue;
      EXPECT_TRUE(KernelRegistry::Get().Has(StrCat(device, "/", name))) << device << "/" << name;
    }
  }
}

}  // namespace
}  // namespace gf
