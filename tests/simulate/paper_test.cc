// The published system (Sun et al., arXiv 1902.06855): cluster P, on which the model is calibrated,
// and cluster V, whose values are not fitted but which depends on the thresholds of these jobs: see
// docs/results/scaling.md.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "core/error.h"
#include "simulate/cluster.h"
#include "simulate/job_run.h"

namespace gf {
namespace {

struct Column {
  const char* name;
  std::vector<std::string> overrides;
};

const Column kFp32 = {"NCCL FP32",
                      {"compute_type=FP32", "comm.mode=PER_TENSOR", "comm.overlap=false"}};
const Column kMixed = {"+mixed", {"comm.mode=PER_TENSOR", "comm.overlap=false"}};
const Column kOverlap = {"+overlap", {"comm.mode=PER_TENSOR"}};
const Column kLazy = {"+lazy", {}};
const Column kSparse = {"+CSC", {"comm.mode=SPARSE"}};

RunResult Run(const std::string& net, const std::string& cluster, const Column& column,
              int batch = 128) {
  const bool alexnet = net == "alexnet";
  SimulatedJob job;
  std::vector<std::string> overrides = column.overrides;
  overrides.push_back(StrCat("train_data.batch_size=", batch));
  job.config = ReadJobConfig("tests/simulate/paper_" + net + ".prototxt", overrides);
  job.cluster = ReadCluster("configs/clusters/paper_" + cluster + ".prototxt");
  const ProfileConfig profile = ReadProfile(
      StrCat("configs/profiles/", alexnet ? "alexnet_bn" : "resnet50_v2", "_volta.prototxt"));
  job.profile = &profile;
  return Simulator(job).Run();
}

// Images/s in thousands, as published; `limit`: of the relative error.
void Expect(const std::string& net, const std::string& cluster, const Column& column,
            double published, double limit, int batch = 128) {
  const RunResult run = Run(net, cluster, column, batch);
  const double error = run.images_per_s / 1e3 / published - 1;
  std::printf("%-9s %s %-10s %7.1fK, published %7.1fK: %+5.1f %%\n", net.c_str(), cluster.c_str(),
              column.name, run.images_per_s / 1e3, published, 100 * error);
  EXPECT_LE(std::abs(error), limit) << net << " on " << cluster << ", " << column.name;
}

TEST(PaperTest, ReproducesAlexNetOnP) {
  Expect("alexnet", "p", kFp32, 75.7, 0.10);
  Expect("alexnet", "p", kMixed, 110.3, 0.10);
  Expect("alexnet", "p", kOverlap, 119.5, 0.10);
  Expect("alexnet", "p", kLazy, 172.8, 0.10);
  Expect("alexnet", "p", kSparse, 245.4, 0.10);
}

TEST(PaperTest, ReproducesResNet50OnP) {
  Expect("resnet50", "p", kFp32, 15.5, 0.10, 64);
  Expect("resnet50", "p", kMixed, 17.8, 0.10, 64);
  Expect("resnet50", "p", kOverlap, 26.9, 0.10);
  Expect("resnet50", "p", kLazy, 29.6, 0.10);
  Expect("resnet50", "p", kSparse, 29.6, 0.10);
}

TEST(PaperTest, PredictsAlexNetOnV) {
  Expect("alexnet", "v", kFp32, 240.0, 0.25);
  Expect("alexnet", "v", kMixed, 326.7, 0.25);
  Expect("alexnet", "v", kOverlap, 349.1, 0.25);
  Expect("alexnet", "v", kLazy, 780.3, 0.15);
  Expect("alexnet", "v", kSparse, 1514.3, 0.15);
}

TEST(PaperTest, PredictsResNet50OnV) {
  Expect("resnet50", "v", kFp32, 56.8, 0.25);
  Expect("resnet50", "v", kMixed, 71.8, 0.25);
  Expect("resnet50", "v", kOverlap, 80.0, 0.25);
  Expect("resnet50", "v", kLazy, 269.5, 0.15);
  Expect("resnet50", "v", kSparse, 273.2, 0.15);
}

void ExpectMinutes(const std::string& net, const Column& column, double published) {
  const double minutes = Run(net, "v", column).training() / 60;
  std::printf("%-9s v %-10s %5.2f minutes, published %.1f: %+5.1f %%\n", net.c_str(), column.name,
              minutes, published, 100 * (minutes / published - 1));
  EXPECT_NEAR(minutes / published, 1, 0.15) << net << ", " << column.name;
}

TEST(PaperTest, PredictsWholeTrainings) {
  ExpectMinutes("alexnet", kLazy, 2.6);
  ExpectMinutes("alexnet", kSparse, 1.5);
  ExpectMinutes("resnet50", kLazy, 7.3);
}

}  // namespace
}  // namespace gf
