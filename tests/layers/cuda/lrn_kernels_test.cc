// Local response normalization on the GPU against its formula.
#include "layers/cuda/lrn_kernels.h"

#include <cmath>

#include "tests/layers/cuda/kernel_test.h"

namespace gf {
namespace {

class LrnKernelsTest : public KernelTest {
 protected:
  // Calls f(element, neighbor) for the elements of every window.
  template <typename F>
  static void ForWindows(const LrnImages& p, const F& f) {
    const int64_t reach = p.size / 2;
    for (int64_t i = 0; i < p.count(); ++i) {
      const int64_t c = i % p.channels, x = i / p.channels % p.width,
                    y = i / p.channels / p.width % p.height;
      for (int64_t a = -reach; a <= reach; ++a) {
        if (!p.within_channel) {
          if (c + a >= 0 && c + a < p.channels) f(i, i + a);
          continue;
        }
        for (int64_t b = -reach; b <= reach; ++b) {
          if (y + a < 0 || y + a >= p.height || x + b < 0 || x + b >= p.width) continue;
          f(i, i + (a * p.width + b) * p.channels);
        }
      }
    }
  }

  static LrnImages Images(int64_t n, int height, int width, int channels, int size, bool within,
                          float beta) {
    LrnImages p;
    p.n = n;
    p.height = height;
    p.width = width;
    p.channels = channels;
    p.size = size;
    p.within_channel = within;
    p.alpha = 0.3f;
    p.beta = beta;
    p.k = 1.5f;
    return p;
  }

  void ExpectNear(const Numbers& found, const std::vector<double>& expected,
                  const std::string& what) {
    // Half precision rounds the result; FP32 loses some bits in roots and sums.
    const double bits = GetParam() == DType::kFP32   ? 3e-6
                        : GetParam() == DType::kFP16 ? 6e-4
                                                     : 5e-3;
    for (int64_t i = 0; i < found.count(); ++i) {
      ASSERT_NEAR(found.Get(i), expected[i], bits * (0.1 + std::fabs(expected[i])))
          << what << ", element " << i;
    }
  }

  void Check(const LrnImages& p) {
    const int64_t count = p.count();
    Numbers x(GetParam(), count), dy(GetParam(), count);
    Random random(7, static_cast<uint64_t>(count));
    x.FillGaussian(&random, 2);
    dy.FillGaussian(&random);
    std::vector<double> scale(count, p.k), y(count), sum(count), dx(count);
    ForWindows(p, [&](int64_t i, int64_t j) { scale[i] += p.alpha * x.Get(j) * x.Get(j); });
    ForWindows(p, [&](int64_t i, int64_t j) {
      sum[i] += dy.Get(j) * x.Get(j) * std::pow(scale[j], -p.beta - 1.);
    });
    for (int64_t i = 0; i < count; ++i) {
      y[i] = x.Get(i) * std::pow(scale[i], -p.beta);
      dx[i] = dy.Get(i) * std::pow(scale[i], -p.beta) - 2. * p.alpha * p.beta * x.Get(i) * sum[i];
    }
    const auto gpu_x = Put(x), gpu_dy = Put(dy), gpu_y = NewNumbers(GetParam(), count),
               gpu_dx = NewNumbers(GetParam(), count), saved = NewNumbers(DType::kFP32, count);
    auto* const scales = static_cast<float*>(saved.get());
    Lrn(p, GetParam(), gpu_x.get(), gpu_y.get(), nullptr, stream());
    ExpectNear(Get(gpu_y, GetParam(), count), y, "y");
    Lrn(p, GetParam(), gpu_x.get(), gpu_y.get(), scales, stream());
    ExpectNear(Get(gpu_y, GetParam(), count), y, "y with scale");
    const Numbers found = Get(saved, DType::kFP32, count);
    for (int64_t i = 0; i < count; ++i) ASSERT_NEAR(found.Get(i), scale[i], 1e-6 * scale[i]) << i;
    LrnGradient(p, GetParam(), gpu_x.get(), gpu_dy.get(), scales, gpu_dx.get(), stream());
    ExpectNear(Get(gpu_dx, GetParam(), count), dx, "dx");
  }
};

// AlexNet's windows of 5 channels, in packs and not; others; one pack, where no neighbor is.
TEST_P(LrnKernelsTest, AcrossChannels) {
  for (float beta : {0.75f, 0.6f}) {
    for (int channels : {8, 96, 24, 5, 19, 1, 4}) Check(Images(2, 3, 4, channels, 5, false, beta));
    for (int size : {1, 3, 7, 21}) Check(Images(1, 2, 3, 16, size, false, beta));
  }
}

TEST_P(LrnKernelsTest, WithinChannel) {
  for (float beta : {0.75f, 0.6f}) {
    for (int channels : {8, 16, 3, 1}) {
      for (int size : {1, 3, 5, 11}) Check(Images(2, 5, 4, channels, size, true, beta));
    }
  }
}

TEST_P(LrnKernelsTest, LargeTensorsAreProcessedInGroups) {
  const ItemsOfGroup items(200);
  Check(Images(5, 6, 3, 96, 5, false, 0.75f));
  Check(Images(5, 6, 3, 19, 3, false, 0.75f));
  Check(Images(5, 6, 3, 8, 3, true, 0.75f));
}

// scale overflows to infinity: the power is 0, not NaN.
TEST_P(LrnKernelsTest, InfiniteScaleGivesZero) {
  if (GetParam() == DType::kFP16) GTEST_SKIP() << "squares of FP16 are finite in FP32";
  const LrnImages p = Images(1, 1, 1, 8, 5, false, 0.75f);
  Numbers x(GetParam(), 8);
  x.Set(3, 3e20f);
  const auto y = NewNumbers(GetParam(), 8);
  Lrn(p, GetParam(), Put(x).get(), y.get(), nullptr, stream());
  ExpectSame(Get(y, GetParam(), 8), Numbers(GetParam(), 8), "y");
}

GF_FOR_EVERY_TYPE(LrnKernelsTest);

}  // namespace
}  // namespace gf
