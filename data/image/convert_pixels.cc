#include "data/image/convert_pixels.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>

#include "core/readable.h"
#include "data/image/byte_buffer.h"
#include "data/image/cache_lines.h"
#include "data/image/pixel_kernels.h"

namespace gf {
namespace {

bool ChannelsConvert(int from, int to) {
  return from == to || (from == 1 && (to == 2 || to == 3)) || (from == 2 && to == 1) ||
         (from == 3 && (to == 1 || to == 4)) || (from == 4 && (to == 1 || to == 3));
}

bool TypesConvert(PixelType from, PixelType to) { return from != PixelType::kFP32 || to == from; }

void CheckConverts(PixelFormat from, PixelFormat to) {
  const bool channels = ChannelsConvert(from.channels, to.channels);
  const bool types = TypesConvert(from.type, to.type);
  if (channels && types) return;
  const std::string set_channels = channels ? "" : StrCat("channels: ", from.channels);
  const std::string set_type = types ? "" : StrCat("pixel_type: ", Name(from.type));
  throw SampleError(StrCat(Counted(from.channels, "channel"), " of ", Name(from.type),
                           ", expected ", to.channels, " of ", Name(to.type), "; set ",
                           set_channels, !channels && !types ? " and " : "", set_type));
}

// 0.299, 0.587, 0.114 in units of 1/65536, rounded. The sum fits for 16 bits, too.
template <typename T>
T Luma(const T* rgb) {
  const uint32_t sum = 19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2];
  return static_cast<T>((sum + 32768u) >> 16);
}
template <>
float Luma<float>(const float* rgb) {
  return 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
}

template <typename T>
void ConvertChannels(const T* from, int from_channels, int64_t pixels, int to_channels, T opaque,
                     T* to) {
  if (from_channels >= 3 && to_channels == 1) {
    for (int64_t i = 0; i < pixels; ++i) to[i] = Luma(from + i * from_channels);
  } else if (from_channels == 1 && to_channels == 3) {
    for (int64_t i = 0; i < pixels; ++i) to[3 * i] = to[3 * i + 1] = to[3 * i + 2] = from[i];
  } else {  // transparency is dropped or added
    const int colors = std::min(from_channels, to_channels);
    for (int64_t i = 0; i < pixels; ++i, from += from_channels, to += to_channels) {
      for (int c = 0; c < colors; ++c) to[c] = from[c];
      if (to_channels > colors) to[colors] = opaque;
    }
  }
}

void ConvertChannels(const void* from, PixelFormat format, int64_t pixels, int to_channels,
                     void* to) {
  const auto convert = [&](auto opaque) {
    using T = decltype(opaque);
    ConvertChannels(static_cast<const T*>(from), format.channels, pixels, to_channels, opaque,
                    static_cast<T*>(to));
  };
  switch (format.type) {
    case PixelType::kUINT8:
      return convert(uint8_t{255});
    case PixelType::kUINT16:
      return convert(uint16_t{65535});
    case PixelType::kFP32:
      return convert(1.0f);
  }
}

template <typename From, typename To, typename Convert>
void ConvertEach(const void* from, int64_t count, void* to, const Convert& convert) {
  const auto* const in = static_cast<const From*>(from);
  auto* const out = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<To>(convert(in[i]));
}

// The types differ, and `from_type` is not FP32.
void ConvertTypes(const void* from, PixelType from_type, int64_t count, PixelType to_type,
                  void* to) {
  const auto same = [](auto value) { return value; };
  if (to_type == PixelType::kUINT16) {
    ConvertEach<uint8_t, uint16_t>(from, count, to, [](int value) { return value * 257; });
  } else if (to_type == PixelType::kUINT8) {
    ConvertEach<uint16_t, uint8_t>(from, count, to, [](int value) { return (value + 128) / 257; });
  } else if (from_type == PixelType::kUINT8) {
    ConvertEach<uint8_t, float>(from, count, to, same);
  } else {
    ConvertEach<uint16_t, float>(from, count, to, same);
  }
}

// RGB with an unused byte.
void Pad(const void* rgb, int64_t pixels, void* to) {
  PixelTable().expand(static_cast<const uint8_t*>(rgb), pixels, static_cast<uint8_t*>(to));
}

}  // namespace

const char* Name(PixelType type) {
  switch (type) {
    case PixelType::kUINT8:
      return "UINT8";
    case PixelType::kUINT16:
      return "UINT16";
    case PixelType::kFP32:
      return "FP32";
  }
  return "?";
}

std::string PixelFormat::ToString() const {
  return StrCat(Name(type), " with ", Counted(channels, "channel"));
}

void ConvertPixels(const void* from, PixelFormat from_format, int64_t pixels,
                   const DecodeRequest& request, void* to) {
  const PixelFormat& format = request.format;
  CheckConverts(from_format, format);
  if (pixels == 0) return;
  // The last step writes to `to`, the others to a buffer each.
  thread_local ByteBuffer channels_buffer, types_buffer;
  const bool channels = from_format.channels != format.channels;
  const bool types = from_format.type != format.type;
  if (channels) {
    const PixelFormat result = {from_format.type, format.channels};
    void* const out =
        types || request.padded ? channels_buffer.Reserve(pixels * result.bytes()) : to;
    ConvertChannels(from, from_format, pixels, format.channels, out);
    from = out;
  }
  if (types) {
    void* const out = request.padded ? types_buffer.Reserve(pixels * format.bytes()) : to;
    ConvertTypes(from, from_format.type, pixels * format.channels, format.type, out);
    from = out;
  }
  if (request.padded) {
    Pad(from, pixels, to);
  } else if (from != to) {
    std::memcpy(to, from, pixels * format.bytes());
  }
}

void SendRows(const void* pixels, ImageSize size, PixelFormat format, RowSink* sink) {
  const DecodeRequest request = sink->Begin(size, /*scalable=*/false);
  const ImageWindow& window = request.window;
  CHECK_EQ(request.denominator, 1);
  const int64_t stride = size.width * format.bytes();
  const auto* row =
      static_cast<const uint8_t*>(pixels) + window.top * stride + window.left * format.bytes();
  // Rows of a window are too short for the processor to predict the start of the next one.
  constexpr int kAhead = 2;
  const int64_t row_bytes = window.width * format.bytes();
  const bool same = !request.padded && request.format == format;
  thread_local ByteBuffer buffer;
  for (int y = 0; y < window.height; ++y, row += stride) {
    if (y + kAhead < window.height) PrefetchToRead(row + kAhead * stride, row_bytes);
    if (same) {
      sink->Row(row);
    } else {
      uint8_t* const converted = buffer.Reserve(window.width * request.pixel_bytes());
      ConvertPixels(row, format, window.width, request, converted);
      sink->Row(converted);
    }
  }
}

}  // namespace gf
