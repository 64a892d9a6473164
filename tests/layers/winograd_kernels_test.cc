// The rounding errors of Winograd's algorithm with tiles of each size.

#include "layers/cpu/winograd_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "layers/cpu/winograd_product_kernels.h"

namespace gf {
namespace {

constexpr int kInputs = 64;

// The error of a tile's results, relative to their L2 norm, for random images and filters.
double ErrorOf(int points, WinogradForm form) {
  const WinogradKernels& kernels = WinogradTable();
  const int taps = TapsOf(form), stride = IsStrided(form) ? 2 : 1;
  const int lanes = kernels.lanes, side = ResultsOf(form, points), all = points * points;
  const int of_filter = FilterPointsOf(form, points), all_of_filter = of_filter * of_filter;
  std::mt19937 random(points * 10 + taps);
  std::normal_distribution<float> normal;
  std::vector<float> image(all * kInputs), filters(kInputs * taps * taps * lanes);
  for (float& value : image) value = normal(random);
  for (float& value : filters) value = normal(random);

  const WinogradTile tile = {0, {0, 0}, {points, points}};
  std::vector<float> images(all * kInputs), transformed(kInputs * all_of_filter * lanes),
      products(all * lanes), results(side * side * lanes);
  const int64_t pad[2] = {0, 0};
  kernels.fp32.images({kInputs, kInputs, points, points}, image.data(), &tile, 1, form, pad,
                      {images.data(), kInputs, kInputs, points});
  for (int c = 0; c < kInputs; ++c) {
    kernels.filter(filters.data() + c * taps * taps * lanes, form, points,
                   transformed.data() + c * all_of_filter * lanes, lanes);
  }
  for (int i = 0; i < all; ++i) {
    WinogradProduct p;
    p.rows = 1;
    p.depth = kInputs;
    p.columns = lanes;
    p.a = images.data() + i * kInputs;
    p.a_step = 1;
    p.b = transformed.data() +
          lanes * (FilterPointOf(form, i / points) * of_filter + FilterPointOf(form, i % points));
    p.b_step = all_of_filter * lanes;
    p.c = products.data() + i * lanes;
    WinogradProducts().multiply(p);
  }
  kernels.fp32.results({lanes, lanes, side, side}, 0, lanes,
                       {products.data(), lanes, lanes, points}, &tile, 1, form, /*bias=*/nullptr,
                       /*relu=*/false, results.data());

  double error = 0, norm = 0;
  for (int r = 0; r < side; ++r) {
    for (int c = 0; c < side; ++c) {
      for (int o = 0; o < lanes; ++o) {
        double sum = 0;
        for (int k = 0; k < kInputs; ++k) {
          for (int t = 0; t < taps * taps; ++t) {
            const int pixel = (stride * r + t / taps) * points + stride * c + t % taps;
            sum += static_cast<double>(image[pixel * kInputs + k]) *
                   filters[(k * taps * taps + t) * lanes + o];
          }
        }
        error += std::pow(results[(r * side + c) * lanes + o] - sum, 2);
        norm += sum * sum;
      }
    }
  }
  return std::sqrt(error / norm);
}

// Note [Winograd's algorithm] (layers/cpu/winograd_points.h).
TEST(WinogradKernelsTest, TilesRoundAsTheirTypesAllow) {
  using Form = WinogradForm;
  for (const Form form : {Form::kThreeTaps, Form::kFiveTaps, Form::kStride2}) {
    for (int points = kFewestWinogradPoints; points <= kMostWinogradPoints; ++points) {
      if (!IsTileSize(form, points)) continue;
      double most = points <= kMostWinogradPointsOfFp32 ? 1e-5 : 1e-4;
      if (IsStrided(form)) most = 3e-6;
      EXPECT_LT(ErrorOf(points, form), most)
          << points << " points, form " << static_cast<int>(form);
    }
  }
}

}  // namespace
}  // namespace gf
