#include "solvers/from_caffe/solver_fields.h"

#include <cmath>
#include <functional>

#include "solvers/lr_policy.h"
#include "tests/solvers/from_caffe/caffe_files.h"

namespace gf {
namespace {

constexpr int kMaxIter = 1000;

std::string Text(const std::string& more) {
  return "net: \"net.prototxt\" max_iter: 1000 base_lr: 0.5 " + more;
}

JobConfig JobOf(const std::string& more) {
  JobConfig job;
  TranslateSolver(ReadSolverFile(WriteText("my_solver.prototxt", Text(more))), &job);
  return job;
}

std::string ErrorIn(const std::string& more) {
  const std::string path = WriteText("my_solver.prototxt", Text(more));
  std::string error = ErrorOf([&] { ReadSolverFile(path); });
  const size_t at = error.find(path);
  return at == error.npos ? error : error.replace(at, path.size(), "FILE");
}

// The rates of a solver follow Caffe's formula of the step.
void ExpectRates(const std::string& solver, const std::function<double(double)>& formula) {
  const JobConfig job = JobOf(solver);
  const BatchSchedule batches(job.solver(), 1000, 10);
  const LearningRate rate(job.solver(), batches);
  ASSERT_EQ(rate.max_steps(), kMaxIter);
  for (const int step : {0, 1, 2, 99, 100, 101, 250, 499, 500, 999}) {
    EXPECT_NEAR(rate.At(step), formula(step), 1e-4 * formula(step)) << solver << " step " << step;
  }
}

TEST(SolverFieldsTest, RatesAreCaffes) {
  ExpectRates("lr_policy: 'fixed'", [](double) { return 0.5; });
  ExpectRates("lr_policy: 'step' gamma: 0.1 stepsize: 100",
              [](double step) { return 0.5 * std::pow(0.1, std::floor(step / 100)); });
  ExpectRates("lr_policy: 'exp' gamma: 0.99",
              [](double step) { return 0.5 * std::pow(0.99, step); });
  ExpectRates("lr_policy: 'inv' gamma: 0.0001 power: 0.75",
              [](double step) { return 0.5 * std::pow(1 + 0.0001 * step, -0.75); });
  ExpectRates("lr_policy: 'multistep' gamma: 0.2 stepvalue: 100 stepvalue: 500", [](double step) {
    return 0.5 * (step < 100 ? 1 : step < 500 ? 0.2 : 0.04);
  });
  ExpectRates("lr_policy: 'poly' power: 2",
              [](double step) { return 0.5 * std::pow(1 - step / kMaxIter, 2); });
  ExpectRates("lr_policy: 'poly' power: 2 min_lr: 0.1",
              [](double step) { return 0.1 + (0.5 - 0.1) * std::pow(1 - step / kMaxIter, 2); });
  ExpectRates("lr_policy: 'sigmoid' gamma: -0.01 stepsize: 500",
              [](double step) { return 0.5 / (1 + std::exp(0.01 * (step - 500))); });
}

// NVIDIA's warm-up ends at base_lr, wherever the policy is by then.
TEST(SolverFieldsTest, RampIsNvidias) {
  ExpectRates("lr_policy: 'poly' power: 2 rampup_interval: 100 rampup_lr: 0.1", [](double step) {
    if (step < 100) return 0.1 + (0.5 - 0.1) * step / 100;
    return 0.5 * std::pow(1 - step / kMaxIter, 2);
  });
}

TEST(SolverFieldsTest, UpdateRulesHaveTheirFields) {
  const SolverConfig sgd = JobOf("lr_policy: 'fixed' weight_decay: 0.25 iter_size: 4").solver();
  EXPECT_EQ(sgd.type(), "SGD");
  EXPECT_EQ(sgd.momentum(), 0) << "Caffe's default";
  EXPECT_EQ(sgd.weight_decay(), 0.25F);
  EXPECT_EQ(sgd.iter_size(), 4);
  EXPECT_FALSE(sgd.nesterov());

  const SolverConfig nesterov = JobOf("lr_policy: 'fixed' type: 'Nesterov' momentum: 0.9").solver();
  EXPECT_EQ(nesterov.type(), "SGD");
  EXPECT_TRUE(nesterov.nesterov());
  EXPECT_EQ(nesterov.momentum(), 0.9F);
  EXPECT_TRUE(JobOf("lr_policy: 'fixed' solver_type: NESTEROV").solver().nesterov());

  const SolverConfig adam =
      JobOf("lr_policy: 'fixed' type: 'Adam' momentum: 0.8 momentum2: 0.99 delta: 1e-3").solver();
  EXPECT_EQ(adam.type(), "Adam");
  EXPECT_EQ(adam.beta1(), 0.8F);
  EXPECT_EQ(adam.beta2(), 0.99F);
  EXPECT_EQ(adam.epsilon(), 1e-3F);

  const SolverConfig rms = JobOf("lr_policy: 'fixed' type: 'RMSProp' rms_decay: 0.98").solver();
  EXPECT_EQ(rms.type(), "RMSProp");
  EXPECT_EQ(rms.beta2(), 0.98F);
  EXPECT_EQ(rms.epsilon(), 1e-8F);
  EXPECT_EQ(JobOf("lr_policy: 'fixed' type: 'AdaDelta' momentum: 0.95").solver().beta2(), 0.95F);
  EXPECT_EQ(JobOf("lr_policy: 'fixed' solver_type: ADAGRAD").solver().type(), "AdaGrad");

  const SolverConfig clip =
      JobOf("lr_policy: 'fixed' larc: true larc_policy: 'clip' larc_eta: 0.002").solver();
  EXPECT_EQ(clip.type(), "LARC");
  EXPECT_EQ(clip.trust_coefficient(), 0.002F);
  EXPECT_EQ(JobOf("lr_policy: 'fixed' larc: true").solver().type(), "LARS");
}

TEST(SolverFieldsTest, TestsCheckpointsAndProgress) {
  const JobConfig job = JobOf(
      "lr_policy: 'fixed' test_iter: 10 test_interval: 50 snapshot: 200 snapshot_prefix: 'a/b' "
      "display: 7 random_seed: 3");
  EXPECT_EQ(job.validation_interval_steps(), 50);
  EXPECT_TRUE(job.validate_at_start()) << "Caffe's default";
  EXPECT_EQ(job.checkpoint().dir(), "a/b");
  EXPECT_EQ(job.checkpoint().interval_steps(), 200);
  EXPECT_EQ(job.checkpoint().interval_epochs(), 0);
  EXPECT_EQ(job.checkpoint().keep(), 0) << "all, as Caffe";
  EXPECT_EQ(job.telemetry().display_interval(), 7);
  EXPECT_EQ(job.seed(), 3);

  const JobConfig bare = JobOf("lr_policy: 'fixed' display: 0");
  EXPECT_FALSE(bare.validate_at_start()) << "nothing is tested";
  EXPECT_EQ(bare.checkpoint().dir(), testing::TempDir() + "/my_solver");
  EXPECT_EQ(JobOf("lr_policy: 'fixed' snapshot_prefix: 'snaps/'").checkpoint().dir(),
            "snaps/my_solver")
      << "a folder";
  EXPECT_EQ(bare.checkpoint().interval_steps(), 0);
  EXPECT_GT(bare.telemetry().display_interval(), kMaxIter);
  EXPECT_FALSE(
      JobOf("lr_policy: 'fixed' test_interval: 9 test_initialization: false").validate_at_start());
  EXPECT_EQ(JobOf("lr_policy: 'fixed' test_interval_epoch: 0.5").validation_interval_epochs(), 0.5);
}

TEST(SolverFieldsTest, MistakesNameTheirPlace) {
  const std::string fixed = "lr_policy: 'fixed' ";
  EXPECT_EQ(
      ErrorIn("lr_policy: 'plateau'"),
      "FILE:1:49: lr_policy is \"plateau\", must be fixed, step, exp, inv, multistep, poly or "
      "sigmoid: \"fixed\" keeps base_lr");
  EXPECT_EQ(ErrorIn("momentum: 0.9"), "FILE: lr_policy is missing: \"fixed\" keeps base_lr");
  EXPECT_EQ(ErrorIn(fixed + "momentum: 1"), "FILE:1:68: momentum is 1, must be less than 1");
  EXPECT_EQ(ErrorIn(fixed + "regularization_type: 'L1'").find("FILE:1:68: regularization_type"), 0);
  EXPECT_EQ(ErrorIn(fixed + "clip_gradients: 35").find("FILE:1:68: clip_gradients is not supp"), 0);
  EXPECT_EQ(ErrorIn(fixed + "train_net: 'x'").find("FILE:1:68: train_net is not supported: wr"), 0);
  EXPECT_EQ(ErrorIn(fixed + "test_state { stage: 'x' }").find("FILE:1:68: test_state[0] selects"),
            0);
  EXPECT_EQ(ErrorIn("lr_policy: 'step' gamma: 0.1"),
            "FILE:1:49: lr_policy \"step\" needs stepsize");
  EXPECT_EQ(ErrorIn("lr_policy: 'sigmoid' gamma: 0.1"),
            "FILE:1:49: lr_policy \"sigmoid\" needs stepsize");
  EXPECT_EQ(ErrorIn("lr_policy: 'exp'"),
            "FILE:1:49: lr_policy \"exp\" needs gamma, greater than 0");
  EXPECT_NE(ErrorIn("lr_policy: 'multistep' gamma: 0.1 stepvalue: 9 stepvalue: 9")
                .find(": stepvalue[1] is 9, must be greater than the one before (9)"),
            std::string::npos);
  EXPECT_EQ(ErrorIn(fixed + "rampup_interval: 1000"),
            "FILE:1:68: rampup_interval is 1000, must be less than max_iter (1000)");
  EXPECT_EQ(ErrorIn(fixed + "momentum: 0.9 type: 'AdaGrad'"),
            "FILE:1:68: momentum does not go with the type AdaGrad, which has none: remove it");
  EXPECT_EQ(ErrorIn(fixed + "delta: 0 type: 'Adam'"),
            "FILE:1:68: delta is 0, must be greater than 0 for Adam");
  EXPECT_EQ(ErrorIn(fixed + "type: 'Adam' larc: true").find("FILE:1:81: larc needs the type"), 0);
  EXPECT_NE(ErrorIn(fixed + "max_epoch: 3").find("max_epoch does not go with max_iter"), -1);
  EXPECT_NE(ErrorIn(fixed + "momentun: 0.9").find("did you mean \"momentum\"?"), -1);
}

TEST(SolverFieldsTest, RecognizesNvidiasSolvers) {
  const auto nvidias = [](const std::string& more) {
    return IsNvidias(
        ReadSolverFile(WriteText("s.prototxt", Text("lr_policy: 'fixed' " + more))).param);
  };
  EXPECT_FALSE(nvidias("momentum2: 0.9 layer_wise_reduce: true"));
  EXPECT_TRUE(nvidias("larc: true"));
}

}  // namespace
}  // namespace gf
