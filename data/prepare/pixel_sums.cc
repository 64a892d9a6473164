#include "data/prepare/pixel_sums.h"

#include <glog/logging.h>

#include "core/config/net.pb.h"
#include "core/output_file.h"

namespace gf {

void PixelSums::Begin(ImageSize size) {
  if (images_ == 0) {
    size_ = size;
    sums_.assign(3 * size.pixels(), 0);
  }
  CHECK(size == size_) << size.ToString() << " among images of " << size_.ToString();
}

void PixelSums::Add(const uint8_t* rgb, ImageSize size, bool color) {
  Begin(size);
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += rgb[i];
  color_ = color_ || color;
  ++images_;
}

void PixelSums::Add(const PixelSums& other) {
  if (other.images_ == 0) return;
  Begin(other.size_);
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
  color_ = color_ || other.color_;
  images_ += other.images_;
}

void PixelSums::WriteMean(const std::string& file) const {
  CHECK_GT(images_, 0);
  const int channels = color_ ? 3 : 1;
  const auto images = static_cast<double>(images_);
  BlobProto blob;
  blob.set_num(1);
  blob.set_channels(channels);
  blob.set_height(size_.height);
  blob.set_width(size_.width);
  blob.mutable_data()->Reserve(static_cast<int>(channels * size_.pixels()));
  for (int c = channels - 1; c >= 0; --c) {  // B, G, R
    for (int64_t i = 0; i < size_.pixels(); ++i) {
      blob.add_data(static_cast<float>(static_cast<double>(sums_[3 * i + c]) / images));
    }
  }
  ReplaceFile(file, blob.SerializeAsString());
}

}  // namespace gf
