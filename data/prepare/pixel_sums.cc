#include "data/prepare/pixel_sums.h"

#include <glog/logging.h>

#include <cstdint>

#include "core/config/net.pb.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/readable.h"

namespace gf {

namespace {

template <typename T>
void AddTo(std::vector<double>* sums, const void* pixels) {
  const auto* const numbers = static_cast<const T*>(pixels);
  for (size_t i = 0; i < sums->size(); ++i) (*sums)[i] += numbers[i];
}

}  // namespace

void PixelSums::Begin(ImageSize size, PixelFormat format) {
  if (images_ == 0) {
    size_ = size;
    format_ = format;
    sums_.assign(format.channels * size.pixels(), 0);
  }
  CHECK(size == size_) << size.ToString() << " among images of " << size_.ToString();
  CHECK(format == format_) << format.ToString() << " among images of " << format_.ToString();
}

void PixelSums::Add(const void* pixels, ImageSize size, PixelFormat format, bool color) {
  Begin(size, format);
  switch (format.type) {
    case PixelType::kUINT8:
      AddTo<uint8_t>(&sums_, pixels);
      break;
    case PixelType::kUINT16:
      AddTo<uint16_t>(&sums_, pixels);
      break;
    case PixelType::kFP32:
      AddTo<float>(&sums_, pixels);
      break;
  }
  color_ = color_ || color;
  ++images_;
}

void PixelSums::Add(const PixelSums& other) {
  if (other.images_ == 0) return;
  Begin(other.size_, other.format_);
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
  color_ = color_ || other.color_;
  images_ += other.images_;
}

void PixelSums::WriteMean(const std::string& file) const {
  CHECK_GT(images_, 0);
  const int64_t stride = format_.channels, channels = shape()[0], pixels = size_.pixels();
  // Beside the values the file has a few bytes. Protobuf's limit is 2 GiB.
  const int64_t bytes = channels * pixels * static_cast<int64_t>(sizeof(float));
  if (bytes > INT32_MAX - 1024) {
    ThrowUserError(file, ": a mean image of ", shape().ToString(), " takes ", WithCommas(bytes),
                   " bytes, expected less than 2 GiB: make the images smaller");
  }
  const auto images = static_cast<double>(images_);
  BlobProto blob;
  blob.set_num(1);
  blob.set_channels(static_cast<int32_t>(channels));
  blob.set_height(size_.height);
  blob.set_width(size_.width);
  blob.mutable_data()->Reserve(static_cast<int>(channels * pixels));
  for (int64_t plane = 0; plane < channels; ++plane) {
    const int64_t c = channels == 3 ? 2 - plane : plane;  // B, G, R
    for (int64_t i = 0; i < pixels; ++i) {
      blob.add_data(static_cast<float>(sums_[stride * i + c] / images));
    }
  }
  ReplaceFile(file, blob.SerializeAsString());
}

}  // namespace gf
