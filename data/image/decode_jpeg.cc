#include <algorithm>
#include <csetjmp>
#include <cstdio>

#include "data/image/byte_buffer.h"
#include "data/image/cache_lines.h"
#include "data/image/codec.h"
#include "data/image/convert_pixels.h"

// These headers need this order, after cstdio.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

namespace gf {
namespace {

// Each scan of a progressive file may refine the whole image; a file with more scans is an attack.
constexpr int kMaxScans = 200;
// Number of rows read at once; they stay in the first-level cache.
constexpr int kRows = 8;

// Note [Rows that stay in the cache]
// libjpeg-turbo stores a row past the cache if the row begins at a multiple of a vector's size.
// Code that resizes or copies the row next then waits for memory. So rows begin 8 bytes after a
// multiple of a cache line. Returns the first such address at or after p.
uint8_t* BehindLine(uint8_t* p) {
  const size_t over = reinterpret_cast<uintptr_t>(p) % kCacheLine;
  return p + (over <= 8 ? 8 - over : kCacheLine + 8 - over);
}

// Whether a warning of the library means that the end of the file is missing. All common image
// readers tolerate other warnings (bytes between segments, an unknown marker, invalid codes, a
// segment that ends early), and data sets rely on that.
bool MeansTruncation(int code) { return code == JWRN_JPEG_EOF; }

// Wraps the library's decompressor. Each thread needs its own, which it can reuse for many images.
class Decompressor {
 public:
  Decompressor() {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr info) { Self(info)->Fail(); };
    errors_.emit_message = [](j_common_ptr info, int level) {
      if (level < 0 && MeansTruncation(info->err->msg_code)) Self(info)->Fail();
    };
    errors_.output_message = [](j_common_ptr) {};
    info_.client_data = this;
    Guarded([&] { jpeg_create_decompress(&info_); });
    progress_.progress_monitor = [](j_common_ptr info) {
      Decompressor* self = Self(info);
      if (self->info_.input_scan_number > kMaxScans) self->Fail("too many progressive scans");
    };
    info_.progress = &progress_;
  }

  ~Decompressor() { jpeg_destroy_decompress(&info_); }

  void ReadHeader(const uint8_t* data, size_t size) {
    Guarded([&] {
      jpeg_abort_decompress(&info_);
      jpeg_mem_src(&info_, data, size);
      jpeg_read_header(&info_, TRUE);
    });
    CheckImageSize("JPEG", info_.image_height, info_.image_width);
  }

  ImageSize size() const {
    return {static_cast<int>(info_.image_height), static_cast<int>(info_.image_width)};
  }
  bool inks() const {
    return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
  }
  const char* oddity() const {
    if (inks()) return "CMYK";
    if (info_.jpeg_color_space == JCS_RGB) return "stored as RGB";
    if (info_.arith_code) return "arithmetic coding";
    if (!HasEndMark()) return "no end mark";
    if (info_.progressive_mode) return "progressive";
    return "";
  }
  int channels() const { return info_.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3; }

  // Call after ReadHeader.
  void Decode(RowSink* sink) {
    const DecodeRequest request = sink->Begin(size(), /*scalable=*/true);
    const ImageWindow& window = request.window;
    // Rows below the window may stay unread only if the file has its end mark.
    const bool ends = HasEndMark();
    const bool from_inks = inks();
    // The library makes gray and RGB of 8 bits; ConvertPixels makes everything else of them.
    const int wanted = request.format.channels;
    const bool known = wanted == 1 || wanted == 3;
    const PixelFormat made = {PixelType::kUINT8, from_inks ? 3 : known ? wanted : channels()};
    const bool converts = from_inks || made != request.format;
    info_.out_color_space = from_inks            ? JCS_CMYK
                            : request.padded     ? JCS_EXT_RGBX
                            : made.channels == 1 ? JCS_GRAYSCALE
                                                 : JCS_RGB;
    info_.scale_num = 1;
    info_.scale_denom = request.denominator;
    JDIMENSION left = 0;
    Guarded([&] {
      jpeg_start_decompress(&info_);
      left = CropColumns(window);
      if (window.top > 0) jpeg_skip_scanlines(&info_, window.top);
    });
    const size_t pixel = info_.output_components;
    // See Note [Rows that stay in the cache].
    const size_t stride = (info_.output_width * pixel + kCacheLine - 1) / kCacheLine * kCacheLine;
    uint8_t* const rows = BehindLine(rows_.Reserve(stride * kRows + kCacheLine));
    const JDIMENSION end = window.top + window.height;
    while (info_.output_scanline < end) {
      const JDIMENSION first = info_.output_scanline;
      Guarded([&] { ReadRows(rows, stride, end - first); });
      for (JDIMENSION y = first; y < info_.output_scanline; ++y) {
        const uint8_t* row = rows + (y - first) * stride + (window.left - left) * pixel;
        if (from_inks) row = FromInks(row, window.width);
        sink->Row(converts ? Converted(row, made, request) : row);
      }
    }
    Guarded([&] {
      while (!ends && info_.output_scanline < info_.output_height) ReadRows(rows, stride, kRows);
      jpeg_abort_decompress(&info_);
    });
  }

 private:
  static Decompressor* Self(j_common_ptr info) {
    return static_cast<Decompressor*>(info->client_data);
  }

  // Jumps out of the library to the Guarded call in progress.
  [[noreturn]] void Fail(const char* what = nullptr) {
    if (what) {
      std::snprintf(message_, sizeof(message_), "%s", what);
    } else {
      errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), message_);
    }
    std::longjmp(environment_, 1);
  }

  // Runs library calls. `calls` must not contain objects with destructors.
  template <typename Calls>
  void Guarded(const Calls& calls) {
    if (setjmp(environment_) == 0) {
      calls();
    } else {
      jpeg_abort_decompress(&info_);
      throw SampleError(StrCat("JPEG: ", message_));
    }
  }

  // Whether an end mark follows the image data, which begins after the header.
  bool HasEndMark() const {
    const uint8_t* begin = info_.src->next_input_byte;
    for (size_t i = info_.src->bytes_in_buffer; i >= 2; --i) {
      if (begin[i - 1] == JPEG_EOI && begin[i - 2] == 0xff) return true;
    }
    return false;
  }

  // Limits decoding to the window's columns; returns the first column that will be decoded.
  JDIMENSION CropColumns(const ImageWindow& window) {
    // The library interpolates colors from neighbors and treats the borders of the requested part
    // as borders of the image.
    constexpr int kMargin = 4;
    const int whole = static_cast<int>(info_.output_width);
    const int begin = std::max(0, window.left - kMargin);
    const int end = std::min(whole, window.left + window.width + kMargin);
    JDIMENSION left = begin, width = end - begin;
    if (width < info_.output_width) jpeg_crop_scanline(&info_, &left, &width);
    return left;
  }

  // Reads at most `count` more rows.
  void ReadRows(uint8_t* to, size_t stride, JDIMENSION count) {
    JSAMPROW rows[kRows];
    for (int i = 0; i < kRows; ++i) rows[i] = to + i * stride;
    jpeg_read_scanlines(&info_, rows, std::min<JDIMENSION>(count, kRows));
  }

  const uint8_t* FromInks(const uint8_t* inks, int width) {
    uint8_t* const rgb = rgb_.Reserve(size_t(width) * 3);
    // Adobe programs store inks inverted: 255 means no ink.
    const int flip = info_.saw_Adobe_marker ? 0 : 255;
    for (int x = 0; x < width; ++x) {
      const int paper = inks[4 * x + 3] ^ flip;
      for (int c = 0; c < 3; ++c) {
        rgb[3 * x + c] = static_cast<uint8_t>(((inks[4 * x + c] ^ flip) * paper + 127) / 255);
      }
    }
    return rgb;
  }

  const uint8_t* Converted(const uint8_t* row, PixelFormat format, const DecodeRequest& request) {
    const int width = request.window.width;
    uint8_t* const converted = row_.Reserve(width * request.pixel_bytes());
    ConvertPixels(row, format, width, request, converted);
    return converted;
  }

  jpeg_decompress_struct info_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf environment_;
  char message_[JMSG_LENGTH_MAX];
  ByteBuffer rows_, rgb_, row_;
};

Decompressor& ThreadDecompressor() {
  thread_local Decompressor decompressor;
  return decompressor;
}

bool Recognizes(const uint8_t* data, size_t size) { return HasBytes(data, size, 0, "\xff\xd8"); }

ImageInfo Probe(const uint8_t* data, size_t size) {
  Decompressor& decompressor = ThreadDecompressor();
  decompressor.ReadHeader(data, size);
  return {"JPEG",
          decompressor.size(),
          decompressor.channels(),
          PixelType::kUINT8,
          decompressor.oddity(),
          false};
}

void Decode(const uint8_t* data, size_t size, RowSink* sink) {
  Decompressor& decompressor = ThreadDecompressor();
  decompressor.ReadHeader(data, size);
  decompressor.Decode(sink);
}

}  // namespace

const Codec& JpegCodec() {
  static const Codec* codec = new Codec{"JPEG", Recognizes, Probe, Decode};
  return *codec;
}

}  // namespace gf
