#include <algorithm>
#include <cstring>

#include "core/readable.h"
#include "data/image/byte_buffer.h"
#include "data/image/codec.h"
#include "data/image/tiff_file.h"

namespace gf {
namespace {

// Tiles of this size are accepted in images of any size.
constexpr int64_t kTileBytes = int64_t{64} << 20;

// Pixels as a file stores them, and as they are delivered.
struct Layout {
  ImageSize size;
  PixelFormat format;
  // The last channel is transparency.
  bool alpha = false;
  // The channels are amounts of several inks.
  bool inks = false;
  // libtiff converts the samples to RGB of 8 bits.
  bool converted = false;
  // X, Y, Z in FP32, to be converted to R, G, B.
  bool xyz = false;
  // Integers of channel 0 count from white to black.
  bool inverted = false;
  const char* oddity = "";
};

bool IsInverted(uint16_t photometric) { return photometric == PHOTOMETRIC_MINISWHITE; }

bool IsGray(uint16_t photometric) {
  return photometric == PHOTOMETRIC_MINISBLACK || IsInverted(photometric) ||
         photometric == PHOTOMETRIC_LOGL;
}

bool IsCmyk(const TiffFile& file, uint16_t photometric, int samples) {
  return photometric == PHOTOMETRIC_SEPARATED && samples == 4 &&
         file.Short(TIFFTAG_INKSET, INKSET_CMYK) == INKSET_CMYK;
}

// The type of samples that are delivered as they are stored.
PixelType StoredType(const TiffFile& file) {
  const int bits = file.Short(TIFFTAG_BITSPERSAMPLE);
  const uint16_t kind = file.Short(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  const bool is_unsigned = kind == SAMPLEFORMAT_UINT || kind == SAMPLEFORMAT_VOID;
  if (is_unsigned && bits == 8) return PixelType::kUINT8;
  if (is_unsigned && bits == 16) return PixelType::kUINT16;
  if (kind == SAMPLEFORMAT_IEEEFP && bits == 32) return PixelType::kFP32;
  const char* const name = is_unsigned                   ? "unsigned integers"
                           : kind == SAMPLEFORMAT_INT    ? "signed integers"
                           : kind == SAMPLEFORMAT_IEEEFP ? "floating-point numbers"
                                                         : "complex numbers";
  throw SampleError(StrCat("TIFF: ", name, " of ", bits,
                           " bits, expected unsigned integers of 8 or 16 bits, or floating-point "
                           "numbers of 32 bits: convert the image"));
}

// Whether the file says that the one sample beyond the colors is transparency.
bool HasAlpha(const TiffFile& file, uint16_t photometric, int samples) {
  const int colors = IsGray(photometric) ? 1 : photometric == PHOTOMETRIC_RGB ? 3 : 0;
  uint16_t count = 0;
  uint16_t* kinds = nullptr;
  return colors > 0 && samples == colors + 1 &&
         TIFFGetFieldDefaulted(file.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds) && count == 1 &&
         kinds && (kinds[0] == EXTRASAMPLE_ASSOCALPHA || kinds[0] == EXTRASAMPLE_UNASSALPHA);
}

// Makes libtiff decode the logarithms of LogL and LogLuv to FP32: Y, or X, Y, Z of CIE 1931.
void DecodeLogarithms(const TiffFile& file, uint16_t photometric, int samples) {
  const int compression = file.Short(TIFFTAG_COMPRESSION);
  const bool known = compression == COMPRESSION_SGILOG || compression == COMPRESSION_SGILOG24;
  const int expected = photometric == PHOTOMETRIC_LOGLUV ? 3 : 1;
  if (!known || samples != expected) {
    throw SampleError(StrCat("TIFF: LogLuv pixels of ", Counted(samples, "channel"),
                             " in compression ", compression, ", expected ", expected,
                             " in SGI's compression: convert the image"));
  }
  if (TIFFSetField(file.get(), TIFFTAG_SGILOGDATAFMT, SGILOGDATAFMT_FLOAT) != 1) {
    file.Fail("its logarithms cannot be decoded");
  }
}

// Throws SampleError for what libtiff or we do not read, before anything is allocated for it.
Layout ReadLayout(const TiffFile& file) {
  Layout layout;
  const int64_t height = file.Long(TIFFTAG_IMAGELENGTH), width = file.Long(TIFFTAG_IMAGEWIDTH);
  CheckImageSize("TIFF", height, width);
  layout.size = {static_cast<int>(height), static_cast<int>(width)};
  const uint32_t depth = file.Long(TIFFTAG_IMAGEDEPTH, 1);
  if (depth > 1) throw SampleError(StrCat("TIFF: a volume of depth ", depth, ", expected 1"));
  const int samples = file.Short(TIFFTAG_SAMPLESPERPIXEL);
  if (samples < 1 || samples > kMaxChannels) {
    throw SampleError(StrCat("TIFF: ", samples, " channels, expected 1 to ", kMaxChannels));
  }
  const int bits = file.Short(TIFFTAG_BITSPERSAMPLE);
  const uint16_t photometric =
      file.Short(TIFFTAG_PHOTOMETRIC, samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  const bool cmyk = IsCmyk(file, photometric, samples);
  if (cmyk) layout.oddity = "CMYK";
  switch (photometric) {
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_MINISWHITE:
      layout.converted = bits < 8;
      break;
    case PHOTOMETRIC_RGB:
      break;
    case PHOTOMETRIC_SEPARATED:
      layout.converted = cmyk && bits == 8;
      layout.inks = !layout.converted && samples > 1;
      break;
    case PHOTOMETRIC_LOGL:
    case PHOTOMETRIC_LOGLUV:
      DecodeLogarithms(file, photometric, samples);
      layout.xyz = photometric == PHOTOMETRIC_LOGLUV;
      break;
    default:
      layout.converted = true;
  }
  if (layout.converted) {
    layout.format = {PixelType::kUINT8, IsGray(photometric) ? 1 : 3};
  } else {
    layout.format = {StoredType(file), samples};
    layout.alpha = HasAlpha(file, photometric, samples);
    layout.inverted = IsInverted(photometric) && layout.format.type != PixelType::kFP32;
  }
  const int64_t bytes = layout.size.pixels() * layout.format.bytes();
  if (bytes > kMaxTiffBytes) {
    throw SampleError(StrCat("TIFF: ", layout.size.ToString(), " pixels of ",
                             layout.format.ToString(), " take ", bytes, " bytes, expected at most ",
                             kMaxTiffBytes));
  }
  // libtiff reads a strip or a tile at once.
  const uint64_t block =
      TIFFIsTiled(file.get()) ? TIFFTileSize64(file.get()) : TIFFStripSize64(file.get());
  const int stored_bits = file.Short(TIFFTAG_BITSPERSAMPLE);  // as DecodeLogarithms leaves them
  const int64_t stored = layout.size.pixels() * samples * ((stored_bits + 7) / 8);
  if (block == 0 || block > static_cast<uint64_t>(std::max(stored, kTileBytes))) {
    throw SampleError(StrCat("TIFF: a strip or tile of ", block, " bytes in an image of ", stored));
  }
  if (file.Short(TIFFTAG_COMPRESSION) != COMPRESSION_OJPEG) file.CheckPlaces();
  return layout;
}

// Copies `count` units of `bytes` bytes to places that are `stride` bytes apart.
void Spread(const uint8_t* from, int64_t count, int64_t bytes, int64_t stride, uint8_t* to) {
  if (bytes == stride) {
    std::memcpy(to, from, count * bytes);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t b = 0; b < bytes; ++b) to[i * stride + b] = from[i * bytes + b];
    }
  }
}

void ReadBlock(const TiffFile& file, bool tiled, uint32_t index, int64_t bytes, uint8_t* to) {
  const int64_t got = tiled ? TIFFReadEncodedTile(file.get(), index, to, bytes)
                            : TIFFReadEncodedStrip(file.get(), index, to, bytes);
  if (got != bytes || file.failed()) {
    file.Fail(StrCat(tiled ? "tile " : "strip ", index, " holds ", got,
                     " bytes of pixels, expected ", bytes));
  }
}

// Writes the samples as they are stored, all samples of a pixel side by side.
void ReadSamples(const TiffFile& file, const Layout& layout, uint8_t* to) {
  TIFF* const tiff = file.get();
  const bool tiled = TIFFIsTiled(tiff);
  const int64_t height = layout.size.height, width = layout.size.width;
  const int64_t block_height =
      tiled ? int64_t{file.Long(TIFFTAG_TILELENGTH)}
            : std::min<int64_t>(file.Long(TIFFTAG_ROWSPERSTRIP, UINT32_MAX), height);
  const int64_t block_width = tiled ? int64_t{file.Long(TIFFTAG_TILEWIDTH)} : width;
  const int planes =
      file.Short(TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE ? layout.format.channels : 1;
  const int64_t pixel = layout.format.bytes();
  const int64_t sample = pixel / layout.format.channels;
  const int64_t unit = planes > 1 ? sample : pixel;  // of a pixel in a block
  const auto claimed = static_cast<int64_t>(tiled ? TIFFTileSize64(tiff) : TIFFStripSize64(tiff));
  if (block_height < 1 || block_width < 1 || claimed % (block_width * unit) != 0 ||
      claimed / (block_width * unit) != block_height) {
    throw SampleError(StrCat("TIFF: a strip or tile of ", claimed, " bytes, expected ",
                             block_height, " rows of ", block_width, " pixels of ", unit,
                             " bytes"));
  }
  ByteBuffer block;
  for (int plane = 0; plane < planes; ++plane) {
    for (int64_t top = 0; top < height; top += block_height) {
      const int64_t rows = std::min(block_height, height - top);
      for (int64_t left = 0; left < width; left += block_width) {
        const int64_t columns = std::min(block_width, width - left);
        uint8_t* const place = to + (top * width + left) * pixel + plane * sample;
        const auto x = static_cast<uint32_t>(left), y = static_cast<uint32_t>(top);
        const auto s = static_cast<uint16_t>(plane);
        if (!tiled && planes == 1) {
          ReadBlock(file, false, TIFFComputeStrip(tiff, y, s), rows * width * pixel, place);
          continue;
        }
        uint8_t* const pixels = block.Reserve(claimed);
        if (tiled) {
          ReadBlock(file, true, TIFFComputeTile(tiff, x, y, 0, s), claimed, pixels);
        } else {
          ReadBlock(file, false, TIFFComputeStrip(tiff, y, s), rows * width * unit, pixels);
        }
        for (int64_t row = 0; row < rows; ++row) {
          Spread(pixels + row * block_width * unit, columns, unit, pixel,
                 place + row * width * pixel);
        }
      }
    }
  }
}

// Writes RGB or gray pixels as libtiff converts them; `to` has room for 4 bytes per pixel.
void ReadConverted(const TiffFile& file, const Layout& layout, uint8_t* to) {
  // With the file's own orientation rows stay where they are stored.
  const uint16_t orientation = file.Short(TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  auto* const raster = reinterpret_cast<uint32_t*>(to);
  const int done = TIFFReadRGBAImageOriented(file.get(), layout.size.width, layout.size.height,
                                             raster, orientation, /*stopOnError=*/1);
  if (!done || file.failed()) file.Fail("the pixels cannot be decoded");
  for (int64_t i = 0; i < layout.size.pixels(); ++i) {
    uint32_t pixel;
    std::memcpy(&pixel, to + 4 * i, 4);
    if (layout.format.channels == 1) {
      to[i] = static_cast<uint8_t>(TIFFGetR(pixel));
    } else {
      to[3 * i] = static_cast<uint8_t>(TIFFGetR(pixel));
      to[3 * i + 1] = static_cast<uint8_t>(TIFFGetG(pixel));
      to[3 * i + 2] = static_cast<uint8_t>(TIFFGetB(pixel));
    }
  }
}

// X, Y, Z in FP32 to linear R, G, B of sRGB (IEC 61966-2-1).
void XyzToRgb(const Layout& layout, uint8_t* pixels) {
  for (int64_t i = 0; i < layout.size.pixels(); ++i) {
    float xyz[3];
    std::memcpy(xyz, pixels + i * sizeof(xyz), sizeof(xyz));
    const float rgb[3] = {3.240479f * xyz[0] - 1.53715f * xyz[1] - 0.498535f * xyz[2],
                          -0.969256f * xyz[0] + 1.875991f * xyz[1] + 0.041556f * xyz[2],
                          0.055648f * xyz[0] - 0.204043f * xyz[1] + 1.057311f * xyz[2]};
    std::memcpy(pixels + i * sizeof(rgb), rgb, sizeof(rgb));
  }
}

void InvertChannel0(const Layout& layout, uint8_t* pixels) {
  const int64_t pixel = layout.format.bytes(), sample = pixel / layout.format.channels;
  for (int64_t i = 0; i < layout.size.pixels(); ++i) {
    for (int64_t b = 0; b < sample; ++b) pixels[i * pixel + b] ^= 0xff;
  }
}

// Amounts of several inks are sent as they are: ConvertPixels takes channels for gray or colors.
void SendInks(uint8_t* pixels, const Layout& layout, RowSink* sink) {
  const DecodeRequest request = sink->Begin(layout.size, /*scalable=*/false);
  const int found = layout.format.channels, wanted = request.format.channels;
  if (found != wanted) {
    throw SampleError(StrCat("TIFF: ", Counted(found, "channel"), " of ink, expected ", wanted,
                             "; set channels: ", found, ", or convert the image to RGB"));
  }
  BegunSink begun(request, sink);
  SendImage("TIFF", pixels, layout.size, layout.format, /*alpha=*/false, &begun);
}

bool Recognizes(const uint8_t* data, size_t size) {
  // The last two: BigTIFF.
  for (const char* magic : {"II*\0", "MM\0*", "II+\0", "MM\0+"}) {
    if (HasBytes(data, size, 0, {magic, 4})) return true;
  }
  return false;
}

ImageInfo Probe(const uint8_t* data, size_t size) {
  const Layout layout = ReadLayout(TiffFile(data, size));
  return {"TIFF",        layout.size, layout.format.channels - layout.alpha, layout.format.type,
          layout.oddity, layout.alpha};
}

void Decode(const uint8_t* data, size_t size, RowSink* sink) {
  const TiffFile file(data, size);
  const Layout layout = ReadLayout(file);
  thread_local ByteBuffer buffer;
  uint8_t* const pixels =
      buffer.Reserve(layout.size.pixels() * (layout.converted ? 4 : layout.format.bytes()));
  if (layout.converted) {
    ReadConverted(file, layout, pixels);
  } else {
    ReadSamples(file, layout, pixels);
  }
  if (layout.xyz) XyzToRgb(layout, pixels);
  if (layout.inverted) InvertChannel0(layout, pixels);
  if (layout.inks) return SendInks(pixels, layout, sink);
  SendImage("TIFF", pixels, layout.size, layout.format, layout.alpha, sink);
}

}  // namespace

const Codec& TiffCodec() {
  static const Codec* codec = new Codec{"TIFF", Recognizes, Probe, Decode};
  return *codec;
}

}  // namespace gf
