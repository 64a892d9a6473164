#include "predict/image_batch.h"

#include <glog/logging.h>

#include <cstring>

#include "core/error.h"
#include "core/file.h"
#include "core/random.h"
#include "data/augment/picture.h"
#include "data/loader/batch_slot.h"
#include "data/loader/workers.h"

namespace gf {
namespace {

// Sends pixels whose rows may have gaps between them.
void SendPixels(const ImageInput& input, RowSink* sink) {
  CheckImageSize("pixels", input.size.height, input.size.width);
  const PixelFormat format = {PixelType::kUINT8, input.channels};
  const int64_t row = input.size.width * format.bytes();
  if (input.row_bytes == row) return SendRows(input.pixels, input.size, format, sink);
  std::vector<uint8_t> pixels(row * input.size.height);
  for (int64_t y = 0; y < input.size.height; ++y) {
    std::memcpy(pixels.data() + y * row, input.pixels + y * input.row_bytes, row);
  }
  SendRows(pixels.data(), input.size, format, sink);
}

}  // namespace

ImageBatch::ImageBatch(const DataConfig& data, const Shape& shape)
    : augment_(data, /*random=*/false),
      normalization_(data, /*random=*/false),
      format_(PixelFormatOf(data)),
      shape_(shape) {
  CHECK_EQ(shape.rank(), 4);
  CHECK_EQ(shape[1], data.channels());
  AllocateImages(shape, normalization_.type(), &batch_);
  batch_.labels.resize(shape[0]);
  if (normalization_.type() == DType::kFP32) return;
  batch_.mean = normalization_.mean();
  batch_.inverse_std = normalization_.inverse_std();
}

void ImageBatch::Prepare(int workers) {
  const auto count = static_cast<int64_t>(inputs_.size());
  CHECK_LE(count, shape_[0]);
  const int64_t bytes = static_cast<int64_t>(batch_.images.desc.bytes()) / shape_[0];
  auto* const images = batch_.images.as<uint8_t>();
  errors_.assign(inputs_.size(), "");
  RunWorkers(workers, count, [&](int64_t i) {
    try {
      PrepareOne(inputs_[i], images + i * bytes);
    } catch (const UserError& error) {
      errors_[i] = error.what();
      if (errors_[i].empty()) errors_[i] = "unknown error";
      std::memset(images + i * bytes, 0, bytes);
    }
  });
  std::memset(images + count * bytes, 0, (shape_[0] - count) * bytes);
  batch_.padding = shape_[0] - count;
}

Recipe ImageBatch::RecipeFor(ImageSize in) const {
  normalization_.CheckSize(augment_.ResizedSize(in));
  const ImageSize got = augment_.OutputSize(in);
  const ImageSize expected = {static_cast<int>(shape_[2]), static_cast<int>(shape_[3])};
  if (got != expected) {
    ThrowUserError("an image of ", got.ToString(), " where the net takes ", expected.ToString(),
                   ": give images of that size, or set resize_height and resize_width in the "
                   "preprocessing");
  }
  return augment_.Draw(in, Random(0, 0));
}

void ImageBatch::PrepareOne(const ImageInput& input, uint8_t* out) const {
  if (!input.error.empty()) throw UserError(input.error);
  PictureScratch scratch;
  ByteBuffer own;
  const bool floats = normalization_.type() == DType::kFP32;
  uint8_t* const pixels = floats ? own.Reserve(shape_.count(2, 4) * format_.bytes()) : out;
  PictureSink sink(
      augment_, format_, [this](ImageSize in) { return RecipeFor(in); },
      /*keep_resized=*/false, pixels, &scratch);
  if (input.pixels != nullptr) {
    SendPixels(input, &sink);
  } else if (input.encoded != nullptr) {
    DecodeRows(input.encoded, input.encoded_bytes, &sink);
  } else {
    const std::string bytes = ReadSmallFile(input.file, kMaxEncodedBytes);
    DecodeRows(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &sink);
  }
  sink.Finish();
  if (floats) normalization_.Apply(sink.recipe(), pixels, reinterpret_cast<float*>(out));
}

}  // namespace gf
