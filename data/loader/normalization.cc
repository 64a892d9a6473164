#include "data/loader/normalization.h"

#include <glog/logging.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/config/caffe_blob.h"
#include "core/error.h"
#include "core/readable.h"
#include "data/image/pixel_kernels.h"

namespace gf {
namespace {

// The blob in a mean_file of C x H x W values.
CaffeBlob ReadBlob(const std::string& file, int channels) {
  CaffeBlob blob;
  try {
    blob = ReadCaffeBlob(file);
  } catch (const UserError& error) {
    ThrowUserError("mean_file: ", error.what());
  }
  std::vector<int64_t> dims = blob.shape.dims();
  if (dims.size() == 4 && dims[0] == 1) dims.erase(dims.begin());
  if (dims.size() != 3 || dims[1] > kMaxSide || dims[2] > kMaxSide) {
    ThrowUserError("mean_file: ", file, ": has the shape ", blob.shape.ToString(), ", expected 1x",
                   channels, "xHxW or ", channels,
                   "xHxW, a mean image of height H and width W: name another file");
  }
  if (dims[0] != channels) {
    const bool possible = dims[0] >= 1 && dims[0] <= kMaxChannels;
    ThrowUserError("mean_file: ", file, ": has ", Counted(dims[0], "channel"), ", expected ",
                   channels, " (channels): name another file",
                   possible ? StrCat(", or set channels: ", dims[0]) : "");
  }
  blob.shape = Shape(std::move(dims));
  return blob;
}

}  // namespace

Normalization::Normalization(const DataConfig& config, bool random)
    : file_(config.mean_file()), format_(PixelFormatOf(config)) {
  const auto per_channel = [](const auto& values, float otherwise, int c) {
    return values.empty() ? otherwise : values.Get(values.size() == 1 ? 0 : c);
  };
  for (int c = 0; c < config.channels(); ++c) {
    mean_.push_back(per_channel(config.mean(), 0, c));
    inverse_std_.push_back(1 / per_channel(config.std(), 1, c));
  }
  if (!file_.empty()) ReadMeanFile(random && config.random_resized_crop());
}

void Normalization::ReadMeanFile(bool per_channel) {
  const int channels = static_cast<int>(mean_.size());
  CaffeBlob blob = ReadBlob(file_, channels);
  const std::string shape = blob.shape.ToString();
  mean_file_hash_ = XXH3_64bits_withSeed(blob.values.data(), blob.values.size() * sizeof(float),
                                         XXH3_64bits(shape.data(), shape.size()));
  size_ = {static_cast<int>(blob.shape[1]), static_cast<int>(blob.shape[2])};
  image_ = std::move(blob.values);
  const int64_t plane = size_.pixels();
  // From B, G, R.
  if (channels == 3) std::swap_ranges(image_.begin(), image_.begin() + plane, image_.end() - plane);
  for (int c = 0; c < channels; ++c) {
    const auto begin = image_.begin() + c * plane;
    mean_[c] =
        static_cast<float>(std::accumulate(begin, begin + plane, 0.0) / static_cast<double>(plane));
  }
  if (per_channel) image_.clear();
}

void Normalization::CheckSize(ImageSize resized) const {
  if (image_.empty() || resized == size_) return;
  std::string means;
  for (const float mean : mean_) means += StrCat(means.empty() ? "" : ", ", mean);
  ThrowUserError("mean_file: ", file_, " has ", size_.ToString(), ", but an image has ",
                 resized.ToString(), " after resizing: set resize_height: ", size_.height,
                 " and resize_width: ", size_.width,
                 ", or replace mean_file by its mean per channel, mean: [", means, "]");
}

void Normalization::Apply(const Recipe& recipe, const void* pixels, float* to) const {
  const auto subtract = PixelTable().subtract_mean[static_cast<int>(format_.type)];
  const int64_t plane = recipe.out.pixels();
  if (image_.empty()) {
    subtract(pixels, plane, format_.channels, mean_.data(), 1, MeanOrder::kPerChannel,
             inverse_std_.data(), plane, to);
    return;
  }
  const ImageWindow& window = recipe.window;
  CHECK(window.top >= 0 && window.top + window.height <= size_.height);
  CHECK(window.left >= 0 && window.left + window.width <= size_.width);
  CHECK(window.height == recipe.out.height && window.width == recipe.out.width);
  const MeanOrder order = recipe.mirrored ? MeanOrder::kMirrored : MeanOrder::kPerPixel;
  const int64_t width = window.width;
  const auto* row = static_cast<const uint8_t*>(pixels);
  for (int64_t y = 0; y < window.height; ++y, row += width * format_.bytes()) {
    const float* const mean = image_.data() + (window.top + y) * int64_t{size_.width} + window.left;
    subtract(row, width, format_.channels, mean, size_.pixels(), order, inverse_std_.data(), plane,
             to + y * width);
  }
}

void Normalization::Erase(const Recipe& recipe, void* image) const {
  const ImageWindow& erased = recipe.erased;
  const int64_t row_pixels = recipe.out.width;
  const auto channels = static_cast<int64_t>(mean_.size());
  for (int64_t y = erased.top; y < erased.top + erased.height; ++y) {
    const int64_t first = y * row_pixels + erased.left;
    for (int64_t c = 0; c < channels; ++c) {
      if (type() == DType::kFP32) {
        std::fill_n(static_cast<float*>(image) + c * recipe.out.pixels() + first, erased.width,
                    0.f);
        continue;
      }
      const auto level = static_cast<uint8_t>(std::lround(std::clamp(mean_[c], 0.f, 255.f)));
      for (int64_t x = 0; x < erased.width; ++x) {
        static_cast<uint8_t*>(image)[(first + x) * channels + c] = level;
      }
    }
  }
}

void UseMeanPerChannel(DataConfig* config) {
  if (config->mean_file().empty()) return;
  const std::vector<float> mean = Normalization(*config, /*random=*/false).mean();
  config->clear_mean_file();
  *config->mutable_mean() = {mean.begin(), mean.end()};
}

void UseLargestSquare(DataConfig* config) {
  if (!config->random_resized_crop()) return;
  config->clear_random_resized_crop();
  if (config->resize_shorter() == 0 && config->resize_height() == 0) {
    config->set_resize_shorter(config->crop_size());
  }
  UseMeanPerChannel(config);
}

}  // namespace gf
