// How the GPU takes in images, against the definition.
#include "layers/cuda/input_kernels.h"

#include "tests/layers/cuda/kernel_test.h"

namespace gf {
namespace {

class InputKernelsTest : public KernelTest {
 protected:
  // The pixel at place `i` of an axis whose reflections go on without end.
  static int64_t Reflected(int64_t i, int64_t size) {
    const int64_t period = 2 * (size - 1), place = (i % period + period) % period;
    return place < size ? place : period - place;
  }

  // Images of height x width, and the part of out_height x out_width of each that is taken.
  struct Sizes {
    int64_t n, height, width, out_height, out_width;
  };

  void Check(const Sizes& s, int channels, bool cut) {
    const int64_t image = s.height * s.width * channels;
    std::vector<uint8_t> bytes(s.n * image);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(Philox(3, 1, i)[0]);
    // Exact in every type: few bits after the mean is taken away.
    std::vector<float> mean(channels), factor(channels);
    for (int c = 0; c < channels; ++c) {
      mean[c] = static_cast<float>(8 * c + 3);
      factor[c] = c % 2 == 0 ? 0.5f : 0.125f;
    }
    const auto gpu_bytes = Put(bytes.data(), bytes.size());
    std::vector<ImageCut> cuts(s.n);
    std::vector<const uint8_t*> of(s.n);
    for (int64_t n = 0; n < s.n; ++n) {
      const auto word = Philox(4, 1, n);
      const auto below = [](uint32_t random, int64_t size) {
        return static_cast<int32_t>(random % size);
      };
      // From wholly in front of the image but for a pixel to wholly behind it but for one.
      cuts[n] = {
          below(word[0], s.height + s.out_height - 1) - static_cast<int32_t>(s.out_height) + 1,
          below(word[1], s.width + s.out_width - 1) - static_cast<int32_t>(s.out_width) + 1,
          below(word[2], 2)};
      // As far out as reflections reach.
      const int64_t rows = 3 * s.height - s.out_height - 1, columns = 3 * s.width - s.out_width - 1;
      if (below(word[3], 2) == 1 && rows > 0 && columns > 0) {
        cuts[n].top = below(word[0], rows) - static_cast<int32_t>(s.height) + 1;
        cuts[n].left = below(word[1], columns) - static_cast<int32_t>(s.width) + 1;
        cuts[n].reflected = 1;
      }
      // Not in their order.
      of[n] = static_cast<const uint8_t*>(gpu_bytes.get()) + (n * 3 + 1) % s.n * image;
    }
    const auto gpu_cuts = Put(cuts.data(), s.n * sizeof(ImageCut));
    const auto gpu_of = Put(of.data(), s.n * sizeof(of[0]));
    const auto gpu_mean = Put(mean.data(), channels * sizeof(float));
    const auto gpu_factor = Put(factor.data(), channels * sizeof(float));
    InputImages images;
    images.x = static_cast<const uint8_t*>(gpu_bytes.get());
    if (cut) {
      images.cuts = static_cast<const ImageCut*>(gpu_cuts.get());
      images.of = static_cast<const uint8_t* const*>(gpu_of.get());
    }
    images.mean = static_cast<const float*>(gpu_mean.get());
    images.inverse_std = static_cast<const float*>(gpu_factor.get());
    images.height = s.height;
    images.width = s.width;
    images.out_height = s.out_height;
    images.out_width = s.out_width;
    images.n = s.n;
    images.channels = channels;
    Numbers expected(GetParam(), s.n * s.out_height * s.out_width * channels);
    for (int64_t at = 0; at < expected.count(); ++at) {
      const int64_t c = at % channels, x = at / channels % s.out_width,
                    y = at / channels / s.out_width % s.out_height,
                    n = at / channels / s.out_width / s.out_height;
      const uint8_t* from = bytes.data() + n * image;
      int64_t column = x, row = y;
      if (cut) {
        from = bytes.data() + (n * 3 + 1) % s.n * image;
        column = cuts[n].left + (cuts[n].mirrored ? s.out_width - 1 - x : x);
        row = cuts[n].top + y;
        if (cuts[n].reflected != 0) {
          column = Reflected(column, s.width);
          row = Reflected(row, s.height);
        }
      }
      float value = 0;
      if (column >= 0 && column < s.width && row >= 0 && row < s.height) {
        value = from[(row * s.width + column) * channels + c];
      }
      expected.Set(at, (value - mean[c]) * factor[c]);
    }
    const auto y = NewNumbers(GetParam(), expected.count());
    NormalizeImages(images, GetParam(), y.get(), stream());
    ExpectSame(Get(y, GetParam(), expected.count()), expected,
               std::to_string(channels) + (cut ? " channels, cut" : " channels"));
  }
};

// Rows of fewer pixels than a thread has, of whole runs of them, and others; results that end
// inside of a run.
TEST_P(InputKernelsTest, WholeAndCutImagesAreNormalized) {
  for (int channels : {1, 2, 3, 4, 7}) {
    for (const Sizes& s : {Sizes{3, 5, 3, 5, 3}, Sizes{2, 4, 16, 4, 16}, Sizes{5, 7, 9, 7, 9}}) {
      Check(s, channels, false);
      Check(s, channels, true);
    }
    for (const Sizes& s : {Sizes{8, 9, 12, 6, 8}, Sizes{7, 11, 29, 9, 13}, Sizes{6, 5, 4, 1, 1},
                           Sizes{4, 3, 3, 8, 11}}) {
      Check(s, channels, true);
    }
  }
}

TEST_P(InputKernelsTest, LargeBatchesAreProcessedInGroups) {
  // 9 images of 5 x 6 pixels, or 8 so that groups begin at multiples of 16 bytes.
  const ItemsOfGroup items(9 * 30 + 7);
  for (int channels : {1, 3, 4, 5}) {
    for (bool cut : {false, true}) Check({21, 5, 6, 5, 6}, channels, cut);
  }
}

GF_FOR_EVERY_TYPE(InputKernelsTest);

}  // namespace
}  // namespace gf
