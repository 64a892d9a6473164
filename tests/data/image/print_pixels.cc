// Decodes image files and writes what they store to standard output, for other programs:
//   print_pixels FILE...
// Per file a line "height width channels type", with transparency among the channels and type as
// Name(PixelType), then the samples: height, width, channels, in the byte order of this machine.

#include <cstdio>

#include "core/error.h"
#include "core/file.h"
#include "tests/data/image/decode_util.h"

namespace gf {
namespace {

int Main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string file = ReadSmallFile(argv[i], kMaxEncodedBytes);
    const ImageInfo info = Probe(file);
    const Decoded decoded = DecodeStored(file);
    std::printf("%d %d %d %s\n", decoded.size.height, decoded.size.width,
                info.channels + (info.alpha ? 1 : 0), Name(info.type));
    std::fwrite(decoded.pixels.data(), 1, decoded.pixels.size(), stdout);
  }
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(&gf::Main, argc, argv); }
