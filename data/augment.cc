#include "data/augment.h"

#include <algorithm>
#include <cstring>
#include <opencv2/imgproc.hpp>

#include "core/error.h"

namespace gf {
namespace {

constexpr int kMaxExtent = 65500;

void CheckRange(const char* field, int value) {
  if (value < 0 || value > kMaxExtent) {
    ThrowUserError(field, ": ", value, ", expected 0 to ", kMaxExtent);
  }
}

void MirrorRow(uint8_t* row, int width, int channels) {
  if (channels == 1) {
    std::reverse(row, row + width);
    return;
  }
  for (int left = 0, right = width - 1; left < right; ++left, --right) {
    for (int c = 0; c < 3; ++c) std::swap(row[3 * left + c], row[3 * right + c]);
  }
}

}  // namespace

Augment::Augment(const DataConfig& config, bool random)
    : resize_shorter_(config.resize_shorter()),
      resize_height_(config.resize_height()),
      resize_width_(config.resize_width()),
      pad_(config.pad()),
      crop_(config.crop_size()),
      random_crop_(random && config.random_crop()),
      mirror_(random && config.mirror()) {
  CheckRange("resize_shorter", resize_shorter_);
  CheckRange("resize_height", resize_height_);
  CheckRange("resize_width", resize_width_);
  CheckRange("pad", pad_);
  CheckRange("crop_size", crop_);
  if ((resize_height_ > 0) != (resize_width_ > 0)) {
    ThrowUserError("resize_height: ", resize_height_, " with resize_width: ", resize_width_,
                   "; expected both or none (or resize_shorter)");
  }
  if (resize_shorter_ > 0 && resize_height_ > 0) {
    ThrowUserError("resize_shorter: ", resize_shorter_, " with resize_height: ", resize_height_,
                   "; expected one of the two ways to resize");
  }
  if (config.random_crop() && crop_ == 0) {
    ThrowUserError("random_crop: true without crop_size; set crop_size to the window's size");
  }
}

ImageSize Augment::ResizedSize(ImageSize in) const {
  if (resize_height_ > 0) return {resize_height_, resize_width_};
  if (resize_shorter_ == 0) return in;
  const int64_t shorter = std::min(in.height, in.width), longer = std::max(in.height, in.width);
  const int64_t other = longer * resize_shorter_ / shorter;
  if (other * resize_shorter_ > kMaxPixels) {
    ThrowUserError("an image of ", in.ToString(), " would have ", other * resize_shorter_,
                   " pixels with resize_shorter: ", resize_shorter_, "; at most ", kMaxPixels,
                   " are possible");
  }
  const int rounded = static_cast<int>(other);
  return in.height <= in.width ? ImageSize{resize_shorter_, rounded}
                               : ImageSize{rounded, resize_shorter_};
}

ImageSize Augment::OutputSize(ImageSize in) const {
  const ImageSize resized = ResizedSize(in);
  const ImageSize padded = {resized.height + 2 * pad_, resized.width + 2 * pad_};
  if (crop_ == 0) {
    if (padded.pixels() > kMaxPixels) {
      ThrowUserError("pad: ", pad_, " makes an image of ", padded.ToString(), ", expected at most ",
                     kMaxPixels, " pixels");
    }
    return padded;
  }
  if (crop_ > padded.height || crop_ > padded.width) {
    ThrowUserError("crop_size: ", crop_, " is larger than the image, ", padded.ToString(),
                   "; lower it, or set resize_shorter to at least ", crop_);
  }
  return {crop_, crop_};
}

bool Augment::KeepsPixels(ImageSize in) const {
  return pad_ == 0 && ResizedSize(in) == in && OutputSize(in) == in;
}

void Augment::Apply(const uint8_t* pixels, ImageSize in, int channels, Random random, uint8_t* out,
                    ByteBuffer* scratch) const {
  const ImageSize resized = ResizedSize(in);
  if (resized != in) {
    uint8_t* to = scratch->Reserve(resized.pixels() * channels);
    Resize(pixels, in, channels, resized, to);
    pixels = to;
  }
  const ImageSize size = OutputSize(in);
  const bool mirrored = mirror_ && (random.Next() & 1);
  const int free_y = resized.height + 2 * pad_ - size.height;
  const int free_x = resized.width + 2 * pad_ - size.width;
  // The window's corner in the resized image; negative in the padding.
  int top = free_y / 2 - pad_, left = free_x / 2 - pad_;
  if (random_crop_) {
    top = static_cast<int>(random.Below(free_y + 1)) - pad_;
    left = static_cast<int>(random.Below(free_x + 1)) - pad_;
  }
  const size_t stride = size_t(size.width) * channels;
  const int x_begin = std::clamp(-left, 0, size.width);
  const int x_end = std::clamp(resized.width - left, x_begin, size.width);
  for (int y = 0; y < size.height; ++y, out += stride) {
    const int from_y = top + y;
    if (from_y < 0 || from_y >= resized.height) {
      std::memset(out, 0, stride);
      continue;
    }
    const uint8_t* row = pixels + (int64_t{from_y} * resized.width + left + x_begin) * channels;
    std::memset(out, 0, size_t(x_begin) * channels);
    std::memcpy(out + x_begin * channels, row, size_t(x_end - x_begin) * channels);
    std::memset(out + x_end * channels, 0, size_t(size.width - x_end) * channels);
    if (mirrored) MirrorRow(out, size.width, channels);
  }
}

void Augment::ApplyInPlace(uint8_t* pixels, ImageSize size, int channels, Random random) const {
  if (!mirror_ || !(random.Next() & 1)) return;
  for (int y = 0; y < size.height; ++y) {
    MirrorRow(pixels + int64_t{y} * size.width * channels, size.width, channels);
  }
}

void Resize(const uint8_t* from, ImageSize from_size, int channels, ImageSize to_size,
            uint8_t* to) {
  // The loader's own threads are the parallelism.
  static const bool one_thread = (cv::setNumThreads(1), true);
  (void)one_thread;
  const int type = channels == 1 ? CV_8UC1 : CV_8UC3;
  const cv::Mat source(from_size.height, from_size.width, type, const_cast<uint8_t*>(from));
  cv::Mat result(to_size.height, to_size.width, type, to);
  const bool grows = to_size.height > from_size.height || to_size.width > from_size.width;
  const bool shrinks = to_size.height < from_size.height || to_size.width < from_size.width;
  if (grows && shrinks) {
    // OpenCV's area filter works only if both axes shrink.
    cv::Mat smaller;
    cv::resize(source, smaller,
               cv::Size(std::min(from_size.width, to_size.width),
                        std::min(from_size.height, to_size.height)),
               0, 0, cv::INTER_AREA);
    cv::resize(smaller, result, result.size(), 0, 0, cv::INTER_LINEAR);
  } else {
    cv::resize(source, result, result.size(), 0, 0, shrinks ? cv::INTER_AREA : cv::INTER_LINEAR);
  }
}

}  // namespace gf
