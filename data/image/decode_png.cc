#include <png.h>

#include <csetjmp>
#include <cstring>

#include "data/image/byte_buffer.h"
#include "data/image/codec.h"

namespace gf {
namespace {

constexpr size_t kMaxChunk = size_t{64} << 20;

// Reads a PNG in memory.
class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : data_(data), left_(size) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError,
                                  [](png_structp, png_const_charp) {});
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void ReadHeader() {
    Guarded([&] {
      png_set_read_fn(png_, this, OnRead);
      png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);
      png_set_chunk_malloc_max(png_, kMaxChunk);
      png_set_chunk_cache_max(png_, 128);
      png_read_info(png_, info_);
    });
    CheckImageSize("PNG", png_get_image_height(png_, info_), png_get_image_width(png_, info_));
  }

  ImageSize size() const {
    return {static_cast<int>(png_get_image_height(png_, info_)),
            static_cast<int>(png_get_image_width(png_, info_))};
  }
  // Without transparency.
  int channels() const { return png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR ? 3 : 1; }
  bool alpha() const {
    return (png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) ||
           png_get_valid(png_, info_, PNG_INFO_tRNS);
  }
  PixelType type() const {
    return png_get_bit_depth(png_, info_) == 16 ? PixelType::kUINT16 : PixelType::kUINT8;
  }

  // The format that serves a request best: 8 bits if these are asked for, and transparency only if
  // it is asked for.
  PixelFormat Choose(PixelFormat wanted) const {
    const bool with_alpha = alpha() && wanted.channels == channels() + 1;
    return {wanted.type == PixelType::kUINT8 ? PixelType::kUINT8 : type(),
            channels() + (with_alpha ? 1 : 0)};
  }

  // Call after ReadHeader. Writes all rows in a format of Choose.
  void ReadPixels(PixelFormat format, uint8_t* to) {
    const ImageSize image = size();
    const size_t stride = image.width * format.bytes();
    const bool with_alpha = format.channels > channels();
    Guarded([&] {
      png_set_palette_to_rgb(png_);
      png_set_expand_gray_1_2_4_to_8(png_);
      if (format.type == PixelType::kUINT16) {
        png_set_swap(png_);  // to the byte order of x86
      } else {
        png_set_scale_16(png_);
      }
      if (with_alpha) {
        png_set_tRNS_to_alpha(png_);
      } else {
        png_set_strip_alpha(png_);
      }
      const int passes = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      if (png_get_rowbytes(png_, info_) != stride) png_error(png_, "unexpected pixel format");
      for (int pass = 0; pass < passes; ++pass) {
        for (int y = 0; y < image.height; ++y) png_read_row(png_, to + y * stride, nullptr);
      }
      // Reads up to the end mark: a file that ends after its last row is damaged too.
      png_read_end(png_, nullptr);
    });
  }

 private:
  static void OnError(png_structp png, png_const_charp message) {
    auto* self = static_cast<Reader*>(png_get_error_ptr(png));
    std::strncpy(self->message_, message, sizeof(self->message_) - 1);
    std::longjmp(self->environment_, 1);
  }

  static void OnRead(png_structp png, png_bytep to, png_size_t bytes) {
    auto* self = static_cast<Reader*>(png_get_io_ptr(png));
    if (bytes > self->left_) png_error(png, "truncated");
    std::memcpy(to, self->data_, bytes);
    self->data_ += bytes;
    self->left_ -= bytes;
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

  const uint8_t* data_;
  size_t left_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf environment_;
  char message_[128] = {};
};

bool Recognizes(const uint8_t* data, size_t size) {
  return HasBytes(data, size, 0, "\x89PNG\r\n\x1a\n");
}

ImageInfo Probe(const uint8_t* data, size_t size) {
  Reader reader(data, size);
  reader.ReadHeader();
  return {"PNG", reader.size(), reader.channels(), reader.type(), "", reader.alpha()};
}

void Decode(const uint8_t* data, size_t size, RowSink* sink) {
  Reader reader(data, size);
  reader.ReadHeader();
  const DecodeRequest request = sink->Begin(reader.size(), /*scalable=*/false);
  const PixelFormat format = reader.Choose(request.format);
  thread_local ByteBuffer buffer;
  uint8_t* pixels = buffer.Reserve(reader.size().pixels() * format.bytes());
  reader.ReadPixels(format, pixels);
  BegunSink begun(request, sink);
  SendRows(pixels, reader.size(), format, &begun);
}

}  // namespace

const Codec& PngCodec() {
  static const Codec* codec = new Codec{"PNG", Recognizes, Probe, Decode};
  return *codec;
}

}  // namespace gf
