#include <csetjmp>
#include <cstdio>

#include "data/byte_buffer.h"
#include "data/codec.h"

// In this order, and after cstdio.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

namespace gf {
namespace {

// A progressive file may refine the whole image in each scan: more is an attack on our time.
constexpr int kMaxScans = 200;

// Whether a warning of the library means that the end of the file is missing. With the others
// (bytes between segments, an odd marker, wrong codes, a segment that ends early) readers of
// images everywhere go on, and data sets count on it.
bool MeansTruncation(int code) { return code == JWRN_JPEG_EOF; }

// The library's decompressor; one per thread, used for one image after another.
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
  int channels() const { return info_.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3; }

  // After ReadHeader.
  void Decode(int channels, uint8_t* to) {
    const bool inks = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = inks ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    const size_t stride = size_t{info_.image_width} * channels;
    if (inks) {
      DecodeInks(channels, to, stride);
      return;
    }
    Guarded([&] {
      jpeg_start_decompress(&info_);
      JSAMPROW rows[8];
      while (info_.output_scanline < info_.output_height) {
        for (int i = 0; i < 8; ++i) rows[i] = to + (info_.output_scanline + i) * stride;
        const JDIMENSION left = info_.output_height - info_.output_scanline;
        jpeg_read_scanlines(&info_, rows, left < 8 ? left : 8);
      }
    });
  }

 private:
  static Decompressor* Self(j_common_ptr info) {
    return static_cast<Decompressor*>(info->client_data);
  }

  // Leaves the library for the Guarded call in progress.
  [[noreturn]] void Fail(const char* what = nullptr) {
    if (what) {
      std::snprintf(message_, sizeof(message_), "%s", what);
    } else {
      errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), message_);
    }
    std::longjmp(environment_, 1);
  }

  // Runs calls of the library; objects with destructors must not live in `calls`.
  template <typename Calls>
  void Guarded(const Calls& calls) {
    if (setjmp(environment_) == 0) {
      calls();
    } else {
      jpeg_abort_decompress(&info_);
      throw SampleError(StrCat("JPEG: ", message_));
    }
  }

  void DecodeInks(int channels, uint8_t* to, size_t stride) {
    const int width = size().width;
    uint8_t* inks = row_.Reserve(size_t(width) * 7);
    uint8_t* rgb = inks + size_t(width) * 4;
    Guarded([&] { jpeg_start_decompress(&info_); });
    // Adobe's programs store inks inverted: 255 = no ink.
    const int flip = info_.saw_Adobe_marker ? 0 : 255;
    for (; info_.output_scanline < info_.output_height; to += stride) {
      Guarded([&] { jpeg_read_scanlines(&info_, &inks, 1); });
      for (int x = 0; x < width; ++x) {
        const int paper = inks[4 * x + 3] ^ flip;
        for (int c = 0; c < 3; ++c) {
          rgb[3 * x + c] = static_cast<uint8_t>(((inks[4 * x + c] ^ flip) * paper + 127) / 255);
        }
      }
      ConvertChannels(rgb, 3, width, channels, to);
    }
  }

  jpeg_decompress_struct info_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf environment_;
  char message_[JMSG_LENGTH_MAX];
  ByteBuffer row_;
};

Decompressor& ThreadDecompressor() {
  thread_local Decompressor decompressor;
  return decompressor;
}

ImageInfo Probe(const uint8_t* data, size_t size) {
  Decompressor& decompressor = ThreadDecompressor();
  decompressor.ReadHeader(data, size);
  return {"JPEG", decompressor.size(), decompressor.channels()};
}

ImageSize Decode(const uint8_t* data, size_t size, int channels, const PlaceImage& place) {
  Decompressor& decompressor = ThreadDecompressor();
  decompressor.ReadHeader(data, size);
  const ImageSize image = decompressor.size();
  decompressor.Decode(channels, place(image));
  return image;
}

}  // namespace

const Codec& JpegCodec() {
  static const Codec* codec = new Codec{"JPEG", "\xff\xd8", Probe, Decode};
  return *codec;
}

}  // namespace gf
