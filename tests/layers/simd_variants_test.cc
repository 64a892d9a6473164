// The kernels compiled for older processors give the results of the newest that this one runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/dtype.h"
#include "core/random.h"
#include "layers/cpu/depthwise_kernels.h"
#include "layers/cpu/dropout_kernels.h"
#include "layers/cpu/eltwise_kernels.h"
#include "layers/cpu/relu_kernels.h"
#include "layers/cpu/softmax_kernels.h"
#include "layers/cpu/thin_product_kernels.h"

namespace gf {
namespace {

constexpr int kCount = 1003;

std::vector<float> Numbers(uint64_t seed) {
  Random random(seed, 1);
  std::vector<float> values(kCount);
  for (float& value : values) value = 5 * random.Gaussian();
  return values;
}

// The variants that this processor runs, oldest first.
template <typename Table>
std::vector<const Table*> Supported(const Table& baseline, const Table& avx2, const Table& avx512) {
  std::vector<const Table*> tables = {&baseline};
  if (BestIsa() != Isa::kBaseline) tables.push_back(&avx2);
  if (BestIsa() == Isa::kAvx512) tables.push_back(&avx512);
  return tables;
}

TEST(SimdVariants, DropoutKeepsTheSameElements) {
  const std::vector<float> x = Numbers(1);
  const KeepDraws draws = {0xfedcba9876543210u, 0x0123456789abcdefu, 7u << 20};
  for (const DropoutKernels* table : Supported(Dropout_baseline, Dropout_avx2, Dropout_avx512)) {
    std::vector<float> y(kCount);
    std::vector<uint8_t> keep(kCount);
    table->fp32.forward(x.data(), y.data(), keep.data(), 2, draws, 0, kCount);
    for (int i = 0; i < kCount; ++i) {
      const bool kept = Philox(draws.key, draws.stream, i / 4)[i % 4] >> 8 >= draws.threshold;
      EXPECT_EQ(keep[i], kept) << i;
      EXPECT_EQ(y[i], kept ? 2 * x[i] : 0) << i;
    }
  }
}

TEST(SimdVariants, SoftmaxMatchesItsFormula) {
  const std::vector<float> x = Numbers(2);
  std::vector<float> weights = Numbers(3);
  double largest = x[0], sum = 0, deficit = 0, weighted = 0;
  for (float& weight : weights) weight = std::fabs(weight);
  for (float value : x) largest = std::max<double>(largest, value);
  for (int i = 0; i < kCount; ++i) {
    sum += std::exp(x[i] - largest);
    deficit += largest - x[i];
    weighted += weights[i] * (largest - x[i]);
  }
  for (const SoftmaxKernels* table : Supported(Softmax_baseline, Softmax_avx2, Softmax_avx512)) {
    const SoftmaxSpan span = {kCount, 1, 1};
    SoftmaxSums sums;
    std::vector<float> y(kCount);
    table->fp32.sums(span, x.data(), weights.data(), &sums);
    EXPECT_NEAR(sums.deficit[0], weighted, 1e-5 * weighted);
    table->fp32.sums(span, x.data(), nullptr, &sums);
    EXPECT_NEAR(sums.deficit[0], deficit, 1e-5 * deficit);
    table->fp32.normalize(span, x.data(), sums, y.data());
    for (int i = 0; i < kCount; ++i) {
      const double expected = std::exp(x[i] - largest) / sum;
      EXPECT_NEAR(y[i], expected, 2e-6 * expected + 1e-37) << i;
    }
    const float factor = 0.75f, target = 0.5f;
    table->fp32.weighted_loss_backward(span, x.data(), &factor, &target, weights.data(), y.data());
    for (int i = 0; i < kCount; ++i) {
      const double expected = 0.75 * x[i] - 0.5 * weights[i];
      EXPECT_NEAR(y[i], expected, 1e-6 * (std::fabs(x[i]) + weights[i])) << i;
    }
  }
}

TEST(SimdVariants, SumsAndReluRoundAlike) {
  std::vector<uint16_t> a, b;
  for (float value : Numbers(3)) a.push_back(ToBF16(value));
  for (float value : Numbers(4)) b.push_back(ToBF16(value));
  std::vector<uint16_t> sum, relu;
  for (int i = 0; i < kCount; ++i) {
    const float value = FromBF16(a[i]) + FromBF16(b[i]);
    sum.push_back(ToBF16(value < 0 ? 0 : value));
    relu.push_back(ToBF16(FromBF16(a[i]) < 0 ? 0.25f * FromBF16(a[i]) : FromBF16(a[i])));
  }
  const void* bottoms[] = {a.data(), b.data()};
  const float ones[] = {1, 1};
  std::vector<uint16_t> y(kCount);
  EltwiseCall call;
  call.bottoms = bottoms;
  call.count = 2;
  call.coefficients = ones;
  call.relu = true;
  call.top = y.data();
  for (const EltwiseKernels* table : Supported(Eltwise_baseline, Eltwise_avx2, Eltwise_avx512)) {
    table->bf16.sum(call, 0, kCount);
    EXPECT_EQ(y, sum);
  }
  for (const ReluKernels* table : Supported(Relu_baseline, Relu_avx2, Relu_avx512)) {
    table->bf16.forward(a.data(), y.data(), 0.25f, 0, kCount);
    EXPECT_EQ(y, relu);
  }
}

TEST(SimdVariants, ThinProductsMatchTheirSums) {
  constexpr int64_t kOutputs = 7, kInputs = 48;
  const ThinShape shape = {kThinGroup, kInputs, kInputs};
  const std::vector<float> numbers = Numbers(3);
  const float *w = numbers.data(), *x = w + kOutputs * kInputs, *dy = x + shape.rows * kInputs / 2;
  const auto tables = Supported(Thin_baseline, Thin_avx2, Thin_avx512);
  for (const ThinKernels* table : tables) {
    std::vector<float> y(kOutputs * shape.rows), dx(shape.rows * kInputs), dw(kOutputs * kInputs);
    table->fp32.forward(shape, x, w, y.data(), 0, kOutputs);
    table->fp32.backward_data(shape, dy, w, dx.data(), kOutputs, 0, kInputs);
    table->fp32.backward_weights(shape, x, dy, dw.data(), 0, kOutputs);
    std::vector<double> sum_y(y.size()), sum_dx(dx.size()), sum_dw(dw.size());
    for (int64_t n = 0; n < kOutputs; ++n) {
      for (int64_t m = 0; m < shape.rows; ++m) {
        for (int64_t k = 0; k < kInputs; ++k) {
          const double a = x[m * kInputs + k], b = w[n * kInputs + k], c = dy[n * shape.rows + m];
          sum_y[n * shape.rows + m] += a * b;
          sum_dx[m * kInputs + k] += c * b;
          sum_dw[n * kInputs + k] += c * a;
        }
      }
    }
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], sum_y[i], 1e-2) << i;
    for (size_t i = 0; i < dx.size(); ++i) EXPECT_NEAR(dx[i], sum_dx[i], 1e-2) << i;
    for (size_t i = 0; i < dw.size(); ++i) EXPECT_NEAR(dw[i], sum_dw[i], 1e-2) << i;
  }
}

TEST(SimdVariants, DepthwiseConvolutionsMatchTheirSums) {
  constexpr int64_t kSide = 5, kPixels = kSide * kSide, kKernel = 3, kTaps = kKernel * kKernel;
  for (const int lanes : {1, 8, 16}) {
    DepthwisePlane plane;
    plane.lanes = lanes;
    plane.x_step = plane.y_step = lanes;
    for (int axis = 0; axis < 2; ++axis) {
      plane.in[axis] = plane.out[axis] = kSide;
      plane.kernel[axis] = kKernel;
      plane.pad[axis] = 1;
    }
    const std::vector<float> x = Numbers(5), dy = Numbers(6), w = Numbers(7);
    const std::vector<float> bias(lanes, 3);
    std::vector<double> y(kPixels * lanes, 3), dx(y.size()), dw(kTaps * lanes), dbias(lanes);
    for (int64_t p = 0; p < kPixels; ++p) {
      for (int64_t tap = 0; tap < kTaps; ++tap) {
        const int64_t h = p / kSide - 1 + tap / kKernel, v = p % kSide - 1 + tap % kKernel;
        if (h < 0 || h >= kSide || v < 0 || v >= kSide) continue;
        for (int64_t l = 0; l < lanes; ++l) {
          const int64_t in = (h * kSide + v) * lanes + l, out = p * lanes + l;
          y[out] += double{x[in]} * w[tap * lanes + l];
          dx[in] += double{dy[out]} * w[tap * lanes + l];
          dw[tap * lanes + l] += double{dy[out]} * x[in];
        }
      }
      for (int64_t l = 0; l < lanes; ++l) dbias[l] += dy[p * lanes + l];
    }
    const auto expect = [](const std::vector<float>& found, const std::vector<double>& expected) {
      for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 5e-3) << i;
    };
    for (const DepthwiseKernels* table :
         Supported(DepthwiseTable_baseline, DepthwiseTable_avx2, DepthwiseTable_avx512)) {
      std::vector<float> own_y(y.size()), own_dx(y.size());
      table->fp32.forward(plane, x.data(), w.data(), bias.data(), false, own_y.data());
      expect(own_y, y);
      table->fp32.backward_data(plane, dy.data(), w.data(), own_dx.data());
      expect(own_dx, dx);
    }
    for (const DepthwiseWeightsKernels* table :
         Supported(DepthwiseWeightsTable_baseline, DepthwiseWeightsTable_avx2,
                   DepthwiseWeightsTable_avx512)) {
      std::vector<float> own_dw(dw.size()), own_dbias(lanes);
      table->fp32(plane, x.data(), dy.data(), own_dw.data(), own_dbias.data());
      expect(own_dw, dw);
      expect(own_dbias, dbias);
    }
  }
}

}  // namespace
}  // namespace gf
