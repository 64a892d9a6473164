#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "data/image/image.h"

// Needs cstdio first.
#include <jpeglib.h>

namespace gf {
namespace {

struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf environment;
};

// Encodes to memory allocated by malloc; returns false on failure.
bool EncodeJpegTo(const uint8_t* pixels, ImageSize size, int channels, int quality,
                  unsigned char** data, unsigned long* bytes) {
  JpegErrors errors;
  jpeg_compress_struct info = {};
  info.err = jpeg_std_error(&errors.manager);
  info.client_data = &errors;
  errors.manager.output_message = [](j_common_ptr) {};
  errors.manager.error_exit = [](j_common_ptr info) {
    std::longjmp(static_cast<JpegErrors*>(info->client_data)->environment, 1);
  };
  if (setjmp(errors.environment) != 0) {
    jpeg_destroy_compress(&info);
    return false;
  }
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, data, bytes);
  info.image_width = size.width;
  info.image_height = size.height;
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  if (quality >= 90) info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(pixels + size_t{info.next_scanline} * size.width * channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  return true;
}

// Writes a PNG of 16 bits to memory.
class WidePngWriter {
 public:
  WidePngWriter() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, OnError,
                                   [](png_structp, png_const_charp) {});
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) {
      png_destroy_write_struct(&png_, nullptr);
      throw std::bad_alloc();
    }
  }
  ~WidePngWriter() { png_destroy_write_struct(&png_, &info_); }
  WidePngWriter(const WidePngWriter&) = delete;
  WidePngWriter& operator=(const WidePngWriter&) = delete;

  // `pixels`: 1 or 3 channels. Throws SampleError.
  std::vector<uint8_t> Write(const uint16_t* pixels, ImageSize size, int channels) {
    Guarded([&] {
      png_set_write_fn(png_, &bytes_, OnWrite, nullptr);
      png_set_IHDR(png_, info_, size.width, size.height, 16,
                   channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                   PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      png_write_info(png_, info_);
      png_set_swap(png_);  // files have the high byte first
      for (int y = 0; y < size.height; ++y) {
        const uint16_t* const row = pixels + int64_t{y} * size.width * channels;
        png_write_row(png_, reinterpret_cast<png_const_bytep>(row));
      }
      png_write_end(png_, info_);
    });
    return std::move(bytes_);
  }

 private:
  static void OnError(png_structp png, png_const_charp message) {
    auto* const self = static_cast<WidePngWriter*>(png_get_error_ptr(png));
    std::strncpy(self->message_, message, sizeof(self->message_) - 1);
    std::longjmp(self->environment_, 1);
  }

  static void OnWrite(png_structp png, png_bytep data, png_size_t count) {
    auto* const bytes = static_cast<std::vector<uint8_t>*>(png_get_io_ptr(png));
    bytes->insert(bytes->end(), data, data + count);
  }

  // Runs library calls. `calls` must not contain objects with destructors.
  template <typename Calls>
  void Guarded(const Calls& calls) {
    if (setjmp(environment_) == 0) {
      calls();
    } else {
      throw SampleError(StrCat("PNG: ", message_));
    }
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf environment_;
  char message_[128] = {};
  std::vector<uint8_t> bytes_;
};

}  // namespace

std::vector<uint8_t> EncodeJpeg(const uint8_t* pixels, ImageSize size, int channels, int quality) {
  unsigned char* data = nullptr;
  unsigned long bytes = 0;
  const bool done = EncodeJpegTo(pixels, size, channels, quality, &data, &bytes);
  const std::unique_ptr<unsigned char, void (*)(void*)> owner(data, std::free);
  if (!done) throw SampleError(StrCat("an image of ", size.ToString(), " cannot be a JPEG"));
  return std::vector<uint8_t>(data, data + bytes);
}

std::vector<uint8_t> EncodePng(const uint8_t* pixels, ImageSize size, int channels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = size.width;
  image.height = size.height;
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::vector<uint8_t> bytes(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t used = bytes.size();
  if (!png_image_write_to_memory(&image, bytes.data(), &used, 0, pixels, 0, nullptr)) {
    throw SampleError(StrCat("an image of ", size.ToString(), " cannot be a PNG: ", image.message));
  }
  bytes.resize(used);
  return bytes;
}

bool FitsPng(PixelFormat format) {
  return format.type != PixelType::kFP32 && (format.channels == 1 || format.channels == 3);
}

std::vector<uint8_t> EncodePng(const void* pixels, ImageSize size, PixelFormat format) {
  if (!FitsPng(format)) {
    ThrowUserError("an image of ", format.ToString(),
                   " fits neither a PNG nor a JPEG, expected UINT8 or UINT16 with 1 or 3 channels: "
                   "only --format=lmdb without --quality and --resize keeps such raw pixels");
  }
  if (format.type == PixelType::kUINT8) {
    return EncodePng(static_cast<const uint8_t*>(pixels), size, format.channels);
  }
  return WidePngWriter().Write(static_cast<const uint16_t*>(pixels), size, format.channels);
}

}  // namespace gf
