#pragma once

#include <tiffio.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "data/image/image.h"

namespace gf {

// What a test file looks like.
struct TiffForm {
  ImageSize size = {37, 53};
  PixelFormat format;
  uint16_t sample_format = SAMPLEFORMAT_UINT;
  uint16_t photometric = PHOTOMETRIC_RGB;
  uint16_t planar = PLANARCONFIG_CONTIG;
  uint16_t compression = COMPRESSION_NONE;
  int tile = 0;  // side of a tile; 0 = strips
  int rows_per_strip = 5;
  std::vector<uint16_t> extra;  // kinds of the extra samples
  uint16_t orientation = ORIENTATION_TOPLEFT;
  std::vector<uint16_t> palette;  // 256 reds, 256 greens, 256 blues, of 16 bits
  // "wl" and "wb": byte order; "w8": BigTIFF.
  std::string mode = "wl";
};

// A file in memory that libtiff writes to.
struct TiffMemory {
  std::string bytes;
  uint64_t at = 0;

  static tmsize_t Read(thandle_t handle, void* to, tmsize_t count) {
    auto* self = static_cast<TiffMemory*>(handle);
    if (self->at >= self->bytes.size()) return 0;
    const size_t got = std::min<size_t>(count, self->bytes.size() - self->at);
    std::memcpy(to, self->bytes.data() + self->at, got);
    self->at += got;
    return static_cast<tmsize_t>(got);
  }
  static tmsize_t Write(thandle_t handle, void* from, tmsize_t count) {
    auto* self = static_cast<TiffMemory*>(handle);
    if (self->bytes.size() < self->at + count) self->bytes.resize(self->at + count);
    std::memcpy(&self->bytes[self->at], from, count);
    self->at += count;
    return count;
  }
  static toff_t Seek(thandle_t handle, toff_t offset, int whence) {
    auto* self = static_cast<TiffMemory*>(handle);
    const uint64_t base = whence == SEEK_CUR   ? self->at
                          : whence == SEEK_END ? self->bytes.size()
                                               : 0;
    return self->at = base + offset;
  }
  static int Close(thandle_t) { return 0; }
  static toff_t Size(thandle_t handle) { return static_cast<TiffMemory*>(handle)->bytes.size(); }
};

// The block of pixels, or of the samples `plane` of pixels (-1 = all), at (top, left). What lies
// outside the image is 0.
inline std::vector<uint8_t> BlockOf(const TiffForm& form, const std::vector<uint8_t>& pixels,
                                    int plane, int top, int left, int rows, int columns) {
  const int64_t pixel = form.format.bytes(), sample = pixel / form.format.channels;
  const int64_t unit = plane < 0 ? pixel : sample;
  std::vector<uint8_t> block(rows * columns * unit);
  for (int y = 0; y < std::min(rows, form.size.height - top); ++y) {
    for (int x = 0; x < std::min(columns, form.size.width - left); ++x) {
      const int64_t place = (int64_t{top + y} * form.size.width + left + x) * pixel;
      std::memcpy(&block[(int64_t{y} * columns + x) * unit],
                  &pixels[place + std::max(plane, 0) * sample], unit);
    }
  }
  return block;
}

// Writes `pixels` (rows without gaps, samples side by side, this machine's byte order) as libtiff
// writes them.
inline std::string WriteTiff(const TiffForm& form, const std::vector<uint8_t>& pixels) {
  TiffMemory memory;
  TIFF* tiff =
      TIFFClientOpen("memory", form.mode.c_str(), &memory, TiffMemory::Read, TiffMemory::Write,
                     TiffMemory::Seek, TiffMemory::Close, TiffMemory::Size, nullptr, nullptr);
  const int height = form.size.height, width = form.size.width;
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, form.format.channels);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, static_cast<int>(8 * SizeOf(form.format.type)));
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, form.sample_format);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, form.photometric);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, form.planar);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, form.compression);
  if (!form.extra.empty()) {
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, static_cast<int>(form.extra.size()),
                 form.extra.data());
  }
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, form.orientation);
  if (!form.palette.empty()) {
    const uint16_t* const reds = form.palette.data();
    TIFFSetField(tiff, TIFFTAG_COLORMAP, reds, reds + 256, reds + 512);
  }
  const bool tiled = form.tile > 0;
  if (tiled) {
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, form.tile);
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, form.tile);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, form.rows_per_strip);
  }
  const bool planes = form.planar == PLANARCONFIG_SEPARATE;
  const int rows = tiled ? form.tile : form.rows_per_strip, columns = tiled ? form.tile : width;
  for (int plane = planes ? 0 : -1; plane < (planes ? form.format.channels : 0); ++plane) {
    const auto sample = static_cast<uint16_t>(std::max(plane, 0));
    for (int top = 0; top < height; top += rows) {
      for (int left = 0; left < width; left += columns) {
        // The last strip ends with the image.
        const int stored = tiled ? rows : std::min(rows, height - top);
        std::vector<uint8_t> block = BlockOf(form, pixels, plane, top, left, stored, columns);
        const auto bytes = static_cast<tmsize_t>(block.size());
        if (tiled) {
          TIFFWriteEncodedTile(tiff, TIFFComputeTile(tiff, left, top, 0, sample), block.data(),
                               bytes);
        } else {
          TIFFWriteEncodedStrip(tiff, TIFFComputeStrip(tiff, top, sample), block.data(), bytes);
        }
      }
    }
  }
  TIFFClose(tiff);
  return memory.bytes;
}

}  // namespace gf
