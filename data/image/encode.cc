#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

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

}  // namespace gf
