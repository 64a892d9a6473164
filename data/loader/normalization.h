#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/job.pb.h"
#include "core/dtype.h"
#include "data/augment/augment.h"
#include "data/image/image.h"

namespace gf {

// The last step of DataConfig: (pixel - mean) / std.
//
// Note [Pixels of more bits]
// Batches travel to the device as UINT8 or FP32. The loader normalizes UINT16 and FP32 pixels, and
// the batch is FP32.
//
// Note [Mean images]
// With a mean per channel a batch holds UINT8 pixels and the numbers, and the device normalizes. A
// mean image has a value for each pixel of an image as it is after resizing; after the crop only
// the loader knows where a pixel was. It normalizes, and the batch is FP32. Random resized crops
// change the scale of pixels, so they subtract the mean image's mean per channel.
class Normalization {
 public:
  // `random`: as for Augment. CheckData has accepted `config`. Throws UserError for a mean_file
  // that cannot be read, is no image or has another number of channels.
  Normalization(const DataConfig& config, bool random);

  // Of the images of a batch; FP32 ones have passed through Apply.
  DType type() const {
    return image_.empty() && format_.type == PixelType::kUINT8 ? DType::kUINT8 : DType::kFP32;
  }
  // One number per channel: the device normalizes UINT8 images as (pixel - mean) * inverse_std.
  const std::vector<float>& mean() const { return mean_; }
  const std::vector<float>& inverse_std() const { return inverse_std_; }

  // Whether each pixel has a mean of its own.
  bool has_image() const { return !image_.empty(); }
  // The size of the mean image, which all images must have after resizing.
  ImageSize size() const { return size_; }
  // Throws UserError for images of another size. Without a mean image it accepts all.
  void CheckSize(ImageSize resized) const;
  // FP32: normalizes the pixels that follow from `recipe`, which changes no scale if there is a
  // mean image. `pixels`: of the config's format, in the order H, W, C; `to`: C, H, W.
  void Apply(const Recipe& recipe, const void* pixels, float* to) const;
  // Erases recipe.erased: the pixels there are 0 once they are normalized, up to the rounding of
  // UINT8. `image`: as it enters a batch, H, W, C in UINT8 or C, H, W in FP32.
  void Erase(const Recipe& recipe, void* image) const;

  // A hash of the shape and the values in mean_file; 0 without one.
  uint64_t mean_file_hash() const { return mean_file_hash_; }

 private:
  void ReadMeanFile(bool per_channel);

  const std::string file_;
  const PixelFormat format_;
  std::vector<float> mean_, inverse_std_;
  std::vector<float> image_;  // C, H, W, in the order of the pixels' channels
  ImageSize size_;            // of image_
  uint64_t mean_file_hash_ = 0;
};

// Replaces mean_file by its mean per channel. Throws as the constructor of Normalization.
void UseMeanPerChannel(DataConfig* config);

// Replaces random_resized_crop, whose size is random, by its counterpart in evaluation: the largest
// square, and a mean image's mean per channel, as training with such crops subtracts it. Throws as
// UseMeanPerChannel.
void UseLargestSquare(DataConfig* config);

}  // namespace gf
