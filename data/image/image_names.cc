#include "data/image/image_names.h"

#include <strings.h>

#include <cstring>

namespace gf {
namespace {

struct NamedFormat {
  const char* ending;
  const char* format;  // as ImageInfo.format
};

// The first ending of a format is the one for new files.
constexpr NamedFormat kEndings[] = {
    {".jpg", "JPEG"},      {".jpeg", "JPEG"},      {".png", "PNG"},          {".tif", "TIFF"},
    {".tiff", "TIFF"},     {".webp", "WebP"},      {".bmp", "BMP"},          {".jp2", "JPEG 2000"},
    {".j2k", "JPEG 2000"}, {".exr", "OpenEXR"},    {".hdr", "Radiance HDR"}, {".pnm", "PNM"},
    {".pbm", "PNM"},       {".pgm", "PNM"},        {".ppm", "PNM"},          {".pam", "PAM"},
    {".pfm", "PFM"},       {".ras", "Sun raster"}, {".jpe", "JPEG"},         {".jfif", "JPEG"},
    {".dib", "BMP"},
};

}  // namespace

bool IsImageName(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot != std::string::npos && IsImageEnding(std::string_view(name).substr(dot + 1));
}

bool IsImageEnding(std::string_view ending) {
  for (const NamedFormat& known : kEndings) {
    const char* const letters = known.ending + 1;
    if (ending.size() == std::strlen(letters) &&
        strncasecmp(ending.data(), letters, ending.size()) == 0) {
      return true;
    }
  }
  return false;
}

const char* EndingOf(std::string_view format) {
  for (const NamedFormat& known : kEndings) {
    if (format == known.format) return known.ending;
  }
  return ".jpg";
}

std::string DescribeImageEndings() {
  return ".jpg, .jpeg, .png, .tif or another ending that docs/data.md lists";
}

}  // namespace gf
