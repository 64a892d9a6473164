// Folded images and filters against Note [Folded images].
#include "layers/cuda/fold_kernels.h"

#include "tests/layers/cuda/kernel_test.h"

namespace gf {
namespace {

Folding Sizes(int64_t n, int channels, int folded_channels, const int (&size)[2],
              const int (&folded_size)[2], const int (&stride)[2], const int (&shift)[2],
              int width = 0) {
  Folding f;
  f.n = n;
  f.channels = channels;
  f.folded_channels = folded_channels;
  for (int i = 0; i < 2; ++i) {
    f.size[i] = size[i];
    f.folded_size[i] = folded_size[i];
    f.block[i] = i == 1 && width > 0 ? width : stride[i];
    f.stride[i] = stride[i];
    f.shift[i] = shift[i];
  }
  return f;
}

// Blocks of 2 x 2, of 4 x 4 and of 1 x 3 pixels, and blocks that overlap; images that end within a
// block, that begin within one, that are smaller than one.
const Folding kFoldings[] = {
    Sizes(2, 3, 16, {7, 10}, {6, 7}, {2, 2}, {4, 4}),
    Sizes(3, 3, 16, {7, 7}, {4, 4}, {2, 2}, {1, 1}),
    Sizes(2, 3, 48, {19, 23}, {5, 6}, {4, 4}, {0, 0}),
    Sizes(1, 1, 16, {5, 9}, {3, 4}, {4, 4}, {3, 2}),
    Sizes(2, 5, 16, {4, 11}, {6, 5}, {1, 3}, {1, 2}),
    Sizes(2, 4, 16, {1, 2}, {2, 2}, {2, 2}, {1, 1}),
    Sizes(2, 3, 48, {9, 10}, {6, 5}, {2, 2}, {4, 4}, 8),
};

class FoldKernelsTest : public KernelTest {
 protected:
  static int64_t Count(const Folding& f) { return f.n * f.size[0] * f.size[1] * f.channels; }
  Numbers Draw(int64_t count) const {
    Numbers numbers(GetParam(), count);
    for (int64_t i = 0; i < count; ++i) {
      numbers.Set(i, static_cast<float>(static_cast<int>(Philox(5, 1, i)[0] % 255) + 1) / 16);
    }
    return numbers;
  }

  // Calls use(folded element, image element or -1 where there is none).
  template <typename Use>
  static void ForElements(const Folding& f, const Use& use) {
    int64_t to = 0;
    for (int64_t n = 0; n < f.n; ++n) {
      for (int i = 0; i < f.folded_size[0]; ++i) {
        for (int j = 0; j < f.folded_size[1]; ++j) {
          for (int channel = 0; channel < f.folded_channels; ++channel, ++to) {
            const int c = channel % f.channels, q = channel / f.channels % f.block[1];
            const int p = channel / f.channels / f.block[1];
            const int y = f.stride[0] * i + p - f.shift[0], x = f.stride[1] * j + q - f.shift[1];
            const bool inside =
                p < f.stride[0] && y >= 0 && y < f.size[0] && x >= 0 && x < f.size[1];
            use(to, inside ? ((n * f.size[0] + y) * f.size[1] + x) * f.channels + c : -1);
          }
        }
      }
    }
  }

  void Check(const Folding& f) {
    SCOPED_TRACE(StrCat(f.n, " x ", f.size[0], " x ", f.size[1], " x ", f.channels, ", blocks of ",
                        f.block[0], " x ", f.block[1]));
    const DType type = GetParam();
    const Numbers images = Draw(Count(f));
    Numbers expected(type, f.folded_count());
    ForElements(
        f, [&](int64_t to, int64_t from) { expected.Set(to, from < 0 ? 0.f : images.Get(from)); });
    const auto gpu_images = Put(images), folded = NewNumbers(type, f.folded_count());
    Fold(f, type, gpu_images.get(), folded.get(), stream());
    ExpectSame(Get(folded, type, f.folded_count()), expected, "folded");
  }
};

TEST_P(FoldKernelsTest, PixelsOfABlockBecomeChannels) {
  for (const Folding& f : kFoldings) Check(f);
}

TEST_P(FoldKernelsTest, LargeTensorsAreProcessedInGroups) {
  const ItemsOfGroup items(400);
  for (const Folding& f : kFoldings) Check(f);
}

TEST_P(FoldKernelsTest, GradientsOfFiltersComeFromTheirPlaces) {
  const DType type = GetParam();
  // Filters lie within the folded filters as a whole.
  for (const Folding& f : {Sizes(3, 3, 16, {7, 7}, {4, 4}, {2, 2}, {1, 1}),
                           Sizes(2, 3, 48, {11, 11}, {3, 3}, {4, 4}, {0, 0}),
                           Sizes(2, 5, 16, {3, 4}, {3, 2}, {1, 3}, {0, 2})}) {
    const Numbers gradients = Draw(f.folded_count());
    Numbers expected(type, Count(f));
    ForElements(f, [&](int64_t from, int64_t to) {
      if (to >= 0) expected.Set(to, gradients.Get(from));
    });
    const auto folded = Put(gradients), filters = NewNumbers(type, Count(f));
    Unfold(f, type, folded.get(), filters.get(), stream());
    ExpectSame(Get(filters, type, Count(f)), expected, "unfolded");
  }
}

GF_FOR_EVERY_TYPE(FoldKernelsTest);

}  // namespace
}  // namespace gf
