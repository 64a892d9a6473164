// Where Normalize takes its statistics from, against the formula in double.
#include "layers/cuda/batch_norm_kernels.h"

#include <algorithm>
#include <cmath>

#include "tests/layers/cuda/kernel_test.h"

namespace gf {
namespace {

constexpr float kEps = 1e-3f, kFraction = 0.75f;

// Rows of several blocks; several tiles of columns; columns that fill no pack; the fewest rows.
constexpr ColumnsView kViews[] = {{3000, 24}, {70, 1032}, {2500, 7}, {2, 3}};

class BatchNormKernelsTest : public KernelTest {
 protected:
  struct Channel {
    double mean, variance, running_mean, running_variance;
  };

  // Small integers whose statistics differ from channel to channel, and all channels' numbers.
  void Prepare(const ColumnsView& view) {
    view_ = view;
    const int columns = view.columns;
    x_ = Numbers(GetParam(), view.rows * columns);
    sums_ = Numbers(DType::kFP32, 2 * columns);
    gamma_ = beta_ = running_mean_ = running_variance_ = Numbers(DType::kFP32, columns);
    for (int64_t i = 0; i < x_.count(); ++i) {
      const auto c = static_cast<int>(i % columns);
      x_.Set(i, static_cast<float>(Philox(1, 3, i)[0] % (3 + c % 5)) - static_cast<float>(c % 3));
      sums_.Set(c, sums_.Get(c) + x_.Get(i));
      sums_.Set(columns + c, sums_.Get(columns + c) + x_.Get(i) * x_.Get(i));
    }
    for (int c = 0; c < columns; ++c) {
      gamma_.Set(c, 0.5f + static_cast<float>(c % 4));
      beta_.Set(c, static_cast<float>(c % 6) - 2);
      running_mean_.Set(c, static_cast<float>(c % 5));
      running_variance_.Set(c, 1 + static_cast<float>(c % 7));
    }
    gpu_sums_ = Put(sums_);
    gpu_gamma_ = Put(gamma_);
    gpu_beta_ = Put(beta_);
    gpu_running_mean_ = Put(running_mean_);
    gpu_running_variance_ = Put(running_variance_);
    gpu_x_ = Put(x_);
    gpu_y_ = NewNumbers(GetParam(), x_.count());
    written_ = NewNumbers(DType::kFP32, 4 * columns);
  }

  void Run(NormalizeWith with) {
    BatchNormForward call;
    call.view = view_;
    call.type = GetParam();
    call.channels.gamma = Floats(gpu_gamma_);
    call.channels.beta = Floats(gpu_beta_);
    call.channels.running_mean = Floats(gpu_running_mean_);
    call.channels.running_variance = Floats(gpu_running_variance_);
    call.channels.mean = Floats(written_);
    call.channels.inverse_std = call.channels.mean + view_.columns;
    call.channels.scale = call.channels.inverse_std + view_.columns;
    call.channels.offset = call.channels.scale + view_.columns;
    call.eps = kEps;
    call.fraction = kFraction;
    call.with = with;
    call.sums = with == NormalizeWith::kSums ? Floats(gpu_sums_) : nullptr;
    call.x = gpu_x_.get();
    call.y = gpu_y_.get();
    Normalize(call, stream());
  }

  // The statistics that y is computed with, and the running ones after it.
  Channel Expected(int c, NormalizeWith with) const {
    const double old_mean = running_mean_.Get(c), old_variance = running_variance_.Get(c);
    if (with == NormalizeWith::kRunning) return {old_mean, old_variance, old_mean, old_variance};
    const auto rows = static_cast<double>(view_.rows);
    const double mean = sums_.Get(c) / rows;
    const double variance = sums_.Get(view_.columns + c) / rows - mean * mean;
    return {mean, variance, kFraction * old_mean + (1 - kFraction) * mean,
            kFraction * old_variance + (1 - kFraction) * variance * rows / (rows - 1)};
  }

  void ExpectResults(NormalizeWith with) {
    const int columns = view_.columns;
    const Numbers written = Get(written_, DType::kFP32, 4 * columns);
    const Numbers running_mean = Get(gpu_running_mean_, DType::kFP32, columns);
    const Numbers running_variance = Get(gpu_running_variance_, DType::kFP32, columns);
    const Numbers y = Get(gpu_y_, GetParam(), x_.count());
    for (int c = 0; c < columns; ++c) {
      const Channel expected = Expected(c, with);
      const double inverse_std = 1 / std::sqrt(expected.variance + kEps);
      const double scale = gamma_.Get(c) * inverse_std;
      ExpectNear(written.Get(c), expected.mean, 1e-6, "mean");
      ExpectNear(written.Get(columns + c), inverse_std, 1e-6, "1 / deviation");
      ExpectNear(written.Get(2 * columns + c), scale, 1e-6, "scale");
      ExpectNear(written.Get(3 * columns + c), beta_.Get(c) - expected.mean * scale, 3e-6,
                 "offset");
      ExpectNear(running_mean.Get(c), expected.running_mean, 1e-6, "running mean");
      ExpectNear(running_variance.Get(c), expected.running_variance, 1e-6, "running variance");
    }
    const double rounding = GetParam() == DType::kFP32   ? 1e-5
                            : GetParam() == DType::kFP16 ? 1e-3
                                                         : 8e-3;
    for (int64_t i = 0; i < x_.count(); ++i) {
      const auto c = static_cast<int>(i % columns);
      const Channel expected = Expected(c, with);
      const double normal = (x_.Get(i) - expected.mean) / std::sqrt(expected.variance + kEps);
      ExpectNear(y.Get(i), gamma_.Get(c) * normal + beta_.Get(c), rounding, "y");
    }
  }

  static void ExpectNear(double found, double expected, double tolerance, const char* what) {
    ASSERT_NEAR(found, expected, tolerance * std::max(1.0, std::abs(expected))) << what;
  }

  static float* Floats(const std::shared_ptr<void>& memory) {
    return static_cast<float*>(memory.get());
  }

  ColumnsView view_;
  Numbers x_{DType::kFP32, 0}, sums_ = x_, gamma_ = x_, beta_ = x_, running_mean_ = x_,
                               running_variance_ = x_;
  std::shared_ptr<void> gpu_x_, gpu_y_, gpu_sums_, gpu_gamma_, gpu_beta_, gpu_running_mean_,
      gpu_running_variance_, written_;
};

// Every block computes the statistics of its columns; one block per tile updates the running ones.
TEST_P(BatchNormKernelsTest, TakesSumsOfTheBatch) {
  for (const ColumnsView& view : kViews) {
    Prepare(view);
    Run(NormalizeWith::kSums);
    ExpectResults(NormalizeWith::kSums);
  }
}

TEST_P(BatchNormKernelsTest, TakesTheRunningStatistics) {
  for (const ColumnsView& view : kViews) {
    Prepare(view);
    Run(NormalizeWith::kRunning);
    ExpectResults(NormalizeWith::kRunning);
  }
}

// As when backward recomputes the results.
TEST_P(BatchNormKernelsTest, TakesWhatWasWrittenBefore) {
  for (const ColumnsView& view : kViews) {
    Prepare(view);
    Run(NormalizeWith::kSums);
    gpu_y_ = NewNumbers(GetParam(), x_.count());
    Run(NormalizeWith::kChannels);
    ExpectResults(NormalizeWith::kSums);
  }
}

GF_FOR_EVERY_TYPE(BatchNormKernelsTest);

}  // namespace
}  // namespace gf
