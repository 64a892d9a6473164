#pragma once

#include <string>
#include <string_view>

namespace gf {

// Whether a file in a data set is an image, by its ending in upper or lower case: .jpg, .png, .tif
// and others (docs/data.md lists them), but not .gif.
bool IsImageName(const std::string& name);

// The same for an ending without its dot: "jpg".
bool IsImageEnding(std::string_view ending);

// The ending, with its dot, under which readers of data sets find a file of this format
// (ImageInfo.format): ".tif" for "TIFF". They look for no .gif: a GIF goes by ".jpg".
const char* EndingOf(std::string_view format);

// The endings for messages: a few of them, and where all stand.
std::string DescribeImageEndings();

}  // namespace gf
