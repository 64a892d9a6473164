#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/batch.h"
#include "core/config/job.pb.h"
#include "data/augment/augment.h"
#include "data/image/image.h"
#include "data/loader/normalization.h"

namespace gf {

// One image to predict, by exactly one of three ways, or `error` without an image. The memory that
// it points to belongs to the caller and must stay until the image's result is there.
struct ImageInput {
  // Why there is no image; "" = there is one.
  std::string error;
  // A file that holds an image in any format that DecodeRows reads.
  std::string file;
  // The bytes of such a file.
  const uint8_t* encoded = nullptr;
  size_t encoded_bytes = 0;
  // Pixels of 8 bits per channel, in the order height, width, channels (RGB, 1 gray, or the net's 1
  // to 16); rows begin every row_bytes bytes, which must be at least width x channels.
  const uint8_t* pixels = nullptr;
  ImageSize size;
  int channels = 0;
  int64_t row_bytes = 0;
};

// A batch of images, prepared for a net as an evaluation prepares them (SampleReader), bit for bit.
class ImageBatch {
 public:
  // `shape`: N, C, H, W of the net. CheckData has accepted `data`, and C is its channels. Throws
  // UserError for a mean_file that does not fit.
  ImageBatch(const DataConfig& data, const Shape& shape);
  ImageBatch(const ImageBatch&) = delete;
  ImageBatch& operator=(const ImageBatch&) = delete;

  // Filled by the caller with at most N images before Prepare.
  std::vector<ImageInput>* inputs() { return &inputs_; }
  const std::vector<ImageInput>& inputs() const { return inputs_; }

  // Reads, decodes and resizes all images, on `workers` threads. Images that cannot be prepared
  // and the rest of the batch are zeros.
  void Prepare(int workers);

  // For Net::Forward.
  const Batch& batch() const { return batch_; }
  // Per image: why it could not be prepared; "" = it was.
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  void PrepareOne(const ImageInput& input, uint8_t* out) const;
  Recipe RecipeFor(ImageSize in) const;

  const Augment augment_;
  const Normalization normalization_;
  const PixelFormat format_;
  const Shape shape_;
  Batch batch_;
  std::vector<ImageInput> inputs_;
  std::vector<std::string> errors_;
};

}  // namespace gf
