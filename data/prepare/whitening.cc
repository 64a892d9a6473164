#include "data/prepare/whitening.h"

#include <algorithm>
#include <cmath>

#include "core/batch.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/readable.h"
#include "data/loader/loader.h"
#include "data/loader/normalization.h"
#include "data/prepare/symmetric_eigen.h"

namespace gf {
namespace {

// Images decoded at a time; of no effect on the result.
constexpr int kBatch = 64;
// A decomposition of this size takes a minute.
constexpr int64_t kMostNumbers = 1024;

// Adds up the products of all pairs of numbers of a patch.
class PatchMoments {
 public:
  // `image`: C, H, W.
  PatchMoments(const Shape& image, int kernel)
      : image_(image), kernel_(kernel), size_(image[0] * kernel * kernel), sums_(size_ * size_) {}

  // Adds the patches of an image in the order C, H, W.
  void Add(const float* image) {
    const int64_t rows = image_[1] - kernel_ + 1, columns = image_[2] - kernel_ + 1;
    // Each sum has one thread and one order.
    ParallelFor(size_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
          const float *a = image + Offset(i), *b = image + Offset(j);
          double sum = 0;
          for (int64_t y = 0; y < rows; ++y, a += image_[2], b += image_[2]) {
            for (int64_t x = 0; x < columns; ++x) sum += double{a[x]} * b[x];
          }
          sums_[i * size_ + j] += sum;
        }
      }
    });
    patches_ += rows * columns;
  }

  // Numbers of a patch.
  int64_t size() const { return size_; }
  int64_t patches() const { return patches_; }
  // The mean of p p^T.
  std::vector<double> Mean() const {
    std::vector<double> mean(sums_.size());
    for (int64_t i = 0; i < size_; ++i) {
      for (int64_t j = 0; j < size_; ++j) {
        const double sum = sums_[std::max(i, j) * size_ + std::min(i, j)];
        mean[i * size_ + j] = sum / static_cast<double>(patches_);
      }
    }
    return mean;
  }

 private:
  // In the image, from the first pixel of a patch to its number i.
  int64_t Offset(int64_t i) const {
    const int64_t channel = i / (kernel_ * kernel_), y = i / kernel_ % kernel_, x = i % kernel_;
    return (channel * image_[1] + y) * image_[2] + x;
  }

  const Shape image_;
  const int64_t kernel_, size_;
  int64_t patches_ = 0;
  std::vector<double> sums_;  // [size][size], where the column is not above the row
};

// Image n of a batch as the net gets it, in the order C, H, W.
void TakeImage(const Batch& batch, int64_t n, std::vector<float>* image) {
  const Shape& shape = batch.images.desc.shape;
  const int64_t count = shape.count(1, 4), channels = shape[1], plane = shape.count(2, 4);
  if (batch.images.desc.dtype == DType::kFP32) {
    const float* const from = batch.images.as<float>() + n * count;
    image->assign(from, from + count);
    return;
  }
  image->resize(count);
  const uint8_t* const from = batch.images.as<uint8_t>() + n * count;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < plane; ++i) {
      const float pixel = from[i * channels + c];
      (*image)[c * plane + i] = (pixel - batch.mean[c]) * batch.inverse_std[c];
    }
  }
}

void CheckOptions(const WhiteningOptions& options, const Shape& image) {
  const int64_t kernel = options.kernel;
  if (kernel > std::min(image[1], image[2])) {
    ThrowUserError("--kernel: ", kernel, " is larger than the images, ", image[1], "x", image[2],
                   " (height x width)");
  }
  // So that the product below does not overflow.
  const int64_t numbers = kernel > kMostNumbers ? kernel : image[0] * kernel * kernel;
  if (numbers > kMostNumbers) {
    ThrowUserError("--kernel: ", kernel, " gives filters of ", image[0], "x", kernel, "x", kernel,
                   " numbers, expected at most ", WithCommas(kMostNumbers), " in all");
  }
}

// Images as in an evaluation, each of them decoded once.
DataConfig WithoutTraining(DataConfig data) {
  UseLargestSquare(&data);
  data.clear_size_phase();
  data.clear_cache_mib();
  data.clear_cache_file();
  data.clear_device_cache_mib();
  data.set_batch_size(kBatch);
  return data;
}

}  // namespace

Whitening WhitenPatches(const WhiteningOptions& options, const SampleProgress& progress) {
  if (options.kernel < 1) ThrowUserError("--kernel: ", options.kernel, ", expected at least 1");
  if (options.images < 1) ThrowUserError("--images: ", options.images, ", expected at least 1");
  if (!(options.epsilon > 0 && std::isfinite(options.epsilon))) {
    ThrowUserError("--eps: ", options.epsilon, ", expected a number greater than 0");
  }
  LoaderOptions loader_options;
  loader_options.mode = LoaderOptions::kEvaluate;
  Loader loader(WithoutTraining(options.data), loader_options);
  const Shape image = loader.image_shape();
  CheckOptions(options, image);
  PatchMoments moments(image, options.kernel);
  Whitening result;
  const int64_t most = std::min(options.images, loader.size());
  std::vector<float> numbers;
  for (int64_t i = 0; i < loader.batches() && result.images < most; ++i) {
    const Batch& batch = loader.Next();
    const int64_t good = std::min(batch.size() - batch.padding, most - result.images);
    for (int64_t n = 0; n < good; ++n) {
      TakeImage(batch, n, &numbers);
      moments.Add(numbers.data());
    }
    result.images += good;
    progress(result.images, most);
  }
  if (result.images == 0) {
    ThrowUserError(options.data.source(), ": none of ", Counted(loader.size(), "image"),
                   " can be read");
  }
  result.patches = moments.patches();
  const auto size = static_cast<int>(moments.size());
  const SymmetricEigen eigen = DecomposeSymmetric(moments.Mean(), size);
  result.eigenvalues = eigen.values;
  result.shape = {2 * moments.size(), image[0], options.kernel, options.kernel};
  for (const double sign : {1., -1.}) {
    for (int64_t k = 0; k < size; ++k) {
      // Rounding makes an eigenvalue of 0 slightly negative.
      const double scale = sign / std::sqrt(std::max(0., eigen.values[k]) + options.epsilon);
      for (int64_t i = 0; i < size; ++i) {
        result.filters.push_back(static_cast<float>(scale * eigen.vectors[k * size + i]));
      }
    }
  }
  return result;
}

}  // namespace gf
